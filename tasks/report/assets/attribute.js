// The page of an attribute, put together; see data.py for what stands in DATA.

function pageSection(id, title, look) {
  return element("section", { id, "aria-label": title }, element("h2", {}, title), look ? element("p", { className: "look" }, look) : null);
}

function range(value, low, high) {
  return percent(value, 1) + (low === null || high === null || low === undefined ? "" : " (" + percent(low, 1) + " to " + percent(high, 1) + ")");
}

function plain(figure) { return (figure < 0 ? "−" : "") + number(Math.abs(figure), 2); }

function withInterval(value, low, high) {
  if (value === null) return "";
  return low === null || high === null ? plain(value) : element("span", {}, plain(value), " ", element("span", { className: "interval small soft" }, plain(low) + " to " + plain(high)));
}

function toldInterval(value, low, high) {
  return low === null || high === null ? plain(value) : plain(value) + " (" + plain(low) + " to " + plain(high) + ")";
}

const IMAGE = /\.(png|jpe?g|gif|webp|avif|bmp|svg)([?#].*)?$/i;

// An item by name, with its image or a link where its features give an address.
function itemNode(place, longest = 60, image = false) {
  const name = named(itemName(place), longest);
  const address = ITEMS.url ? ITEMS.url[place] : null;
  if (!address || !isSafe(address)) return name;
  const target = element("a", { href: address, rel: "noreferrer noopener", target: "_blank" });
  if (image && IMAGE.test(address)) target.append(element("img", { className: "thumb", src: address, alt: "", loading: "lazy", referrerpolicy: "no-referrer", width: 44, height: 44 }));
  target.append(name);
  return target;
}

function headSection() {
  const section = element("section", { id: "head", "aria-label": "In short" });
  section.append(element("p", { className: "lead" }, short(DATA.summary, 600)));
  if (HEAD.outcome) {
    const [words, kind, look] = {
      published: ["published", "good", "good"], held: ["held back", "warn", ""], failed: ["failed", "bad", "bad"], unchanged: ["unchanged", "calm", "calm"],
    }[HEAD.outcome];
    section.append(element("div", { className: "notice " + look, id: "verdict" }, state(words, kind), " ", short(HEAD.reason.replace(/^held: /, ""), 600)));
  }
  const live = [];
  if (HEAD.live !== null) live.push((HEAD.night ? "After the night of " + HEAD.night + " version " : "Version ") + HEAD.live + " was live" + (HEAD.live_since ? ", since " + HEAD.live_since.slice(0, 16).replace("T", " ") : "") + (HEAD.live_night ? ", from the votes up to the night of " + HEAD.live_night : "") + ".");
  if (HEAD.version !== null && HEAD.version !== HEAD.live) live.push("These results are version " + HEAD.version + ".");
  if (live.length) section.append(element("p", {}, live.join(" ")));
  section.append(figures());
  for (const [what, command] of HEAD.commands) section.append(element("p", { className: "small soft" }, what), element("pre", { className: "command" }, command));
  section.append(element("h3", {}, "What became of the rows"), rowAccount());
  return section;
}

function figures() {
  const cards = element("div", { className: "cards tight" });
  const votes = (DATA.rows.used || 0) + (DATA.rows.ties || 0);
  const flagged = flaggedPeople().length;
  cards.append(card("votes", number(votes), "", plural(ITEMS.n_all, "item") + (PEOPLE.n_all ? ", " + plural(PEOPLE.n_all, "person", "people") : "")));
  const aside = DATA.n_pruned - DATA.n_turned;
  cards.append(card("set aside", number(aside), "", (votes ? percent(aside / votes, 1) + " of the votes" : "") + (DATA.n_turned ? "; " + number(DATA.n_turned) + " more are read the other way round" : "")));
  cards.append(card("people not to trust", PEOPLE.n_all ? number(flagged) + (flagged === PEOPLE.verdict.length && flagged < PEOPLE.n_all ? " or more" : "") : "–", flagged ? "warn" : "", PEOPLE.n_all ? "of " + number(PEOPLE.n_all) : "votes name nobody"));
  if (HEAD.tau) {
    const level = HEAD.level ? percent(HEAD.level) + " interval " : "";
    cards.append(card("agreement with unseen votes (tau)", number(HEAD.tau.value, 3), "", level + number(HEAD.tau.low, 2) + " to " + number(HEAD.tau.high, 2) + (HEAD.n_judged ? ", " + plural(HEAD.n_judged, "vote") : "") + "; 1 is perfect, 0 is chance"));
  }
  if (HEAD.change) {
    const kind = HEAD.change.high < 0 ? "bad" : HEAD.change.low > 0 ? "good" : "";
    cards.append(card("change against the live version", signed(HEAD.change.value), kind, signed(HEAD.change.low) + " to " + signed(HEAD.change.high) + (kind ? "" : ": no sure change")));
  }
  const test = DATA.self_test;
  cards.append(card("self-test (AUC)", test ? number(test.auc.value, 2) : "–", test ? aucKind(test.auc.value) : "", test ? number(test.auc.low, 2) + " to " + number(test.auc.high, 2) + "; 0.5 is chance" : "not done"));
  const reliability = DATA.diagnostics.enough.reliability;
  if (!reliability) cards.append(card("enough votes?", "not known", "", "halves cannot be ranked"));
  else {
    const [word, kind] = reliability.value >= 0.9 ? ["yes", "good"] : reliability.value >= 0.7 ? ["more would help", "warn"] : ["too few", "bad"];
    cards.append(card("enough votes?", word, kind, "likeness to another such crowd " + number(reliability.value, 2) + " (" + number(reliability.low, 2) + " to " + number(reliability.high, 2) + ")"));
  }
  return cards;
}

function rowAccount() {
  const { read = 0, used = 0, ties = 0, skipped = 0, rejected = 0 } = DATA.rows;
  const host = element("div", { id: "rows" }, element("p", {}, number(read) + " read = " + number(used) + " used + " + plural(ties, "tie") + " + " + number(skipped) + " skipped + " + number(rejected) + " rejected"));
  const reasons = Object.entries(DATA.reasons_not_counted).sort((one, other) => other[1] - one[1]);
  if (reasons.length) host.append(element("ul", { className: "small" }, reasons.map(([reason, count]) => element("li", { className: "name" }, plural(count, "row") + ": " + short(reason, 200)))));
  return host;
}

const NAMED_IN_PLOT = 25;
const ASIDE = DATA.n_turned ? "Aside or turned" : "Set aside";

function rankingSection() {
  const section = pageSection("ranking", "Ranking",
    "Best first. Bars and \"3–9\" are 90 % intervals: where the bars of two items overlap, the votes do not settle which of them is better.");
  const n = ITEMS.score.length;
  section.append(element("div", { className: n > NAMED_IN_PLOT ? "two" : "" }, namedPlot(n), n > NAMED_IN_PLOT ? allPlot(n) : null), moves());
  if (ITEMS.n_all > n) section.append(element("p", { className: "small soft" }, "The table has the best " + number(n) + " of " + number(ITEMS.n_all) + " items: all would make the page too large. " + whole("scores")));
  const host = element("div", { id: "item-table" });
  section.append(host);
  table(host, {
    columns: [
      { title: "Rank", kind: "number", value: (place) => -ITEMS.rank[place], cell: (place) => element("span", {}, number(ITEMS.rank[place]), " ", element("span", { className: "interval short small soft" }, span(ITEMS.rank_low[place], ITEMS.rank_high[place]))) },
      { title: "Item", wide: true, value: itemName, cell: (place) => itemNode(place, 60, true) },
      { title: "Score", kind: "number", value: (place) => ITEMS.score[place], cell: (place) => withInterval(ITEMS.score[place], ITEMS.low[place], ITEMS.high[place]) },
      { title: "Votes", kind: "number", value: (place) => ITEMS.n_votes[place], cell: (place) => number(ITEMS.n_votes[place]) },
      { title: "Won, lost, tied", kind: "number", value: (place) => ITEMS.wins[place], cell: (place) => [ITEMS.wins, ITEMS.losses, ITEMS.ties].map((column) => number(column[place])).join(", ") },
      { title: ASIDE, kind: "number", hint: "Votes on the item that do not count as they were cast", value: (place) => ITEMS.pruned[place], cell: (place) => number(ITEMS.pruned[place]) },
    ],
    rows: ITEMS.score.map((_, place) => place), size: 25, find: "Search items",
  });
  return section;
}

// Where a table lies that the page cannot hold.
function whole(name) {
  return "All are in " + (HEAD.results ? name + ".parquet in " + HEAD.results : name + ".csv or " + name + ".parquet beside this page") + ".";
}

function span(low, high) { return low === null || high === null ? "" : low === high ? "" : number(low) + "–" + number(high); }

function namedPlot(n) {
  const few = Math.min(n, NAMED_IN_PLOT);
  const which = element("select", { "aria-label": "Which items to draw" }, element("option", { value: "first" }, "The best " + few), element("option", { value: "last" }, "The last " + few));
  const host = plot("Scores of " + plural(few, "item") + " with intervals", draw);
  which.onchange = () => draw(host);
  return element("div", {}, n > few ? element("div", { className: "tools" }, which) : null, host);

  function draw(place) {
    if (!few) return Promise.resolve();
    const start = which.value === "last" ? n - few : 0;
    const items = Array.from({ length: few }, (_, k) => start + k);
    const names = items.map((item) => factor(item + 1, itemName(item)));
    const made = figure({ height: 60 + 20 * few, x: "score", factors: [...names].reverse() });
    const data = source({ y: names, x: numbers(items.map((item) => ITEMS.score[item])), low: numbers(items.map((item) => ITEMS.low[item])), high: numbers(items.map((item) => ITEMS.high[item])) });
    made.segment({ x0: field("low"), x1: field("high"), y0: field("y"), y1: field("y"), source: data, line_color: COLOURS.sky, line_width: 5 });
    const points = made.scatter({ x: field("x"), y: field("y"), source: data, size: 9, fill_color: COLOURS.blue, line_color: "white" });
    hover(made, [points], (k) => itemWords(items[k]));
    return showPlot(made, place);
  }
}

function itemWords(item) {
  return [short(itemName(item), 80), "rank " + number(ITEMS.rank[item]) + (span(ITEMS.rank_low[item], ITEMS.rank_high[item]) ? " (" + span(ITEMS.rank_low[item], ITEMS.rank_high[item]) + ")" : ""),
    "score " + toldInterval(ITEMS.score[item], ITEMS.low[item], ITEMS.high[item]), plural(ITEMS.n_votes[item], "vote")];
}

function allPlot(n) {
  const host = plot("Scores of all items by rank, with intervals", (place) => {
    const made = figure({ height: 60 + 20 * NAMED_IN_PLOT, x: "rank", y: "score" });
    const data = source({ x: ITEMS.score.map((_, k) => k + 1), y: numbers(ITEMS.score), low: numbers(ITEMS.low), high: numbers(ITEMS.high) });
    made.segment({ x0: field("x"), x1: field("x"), y0: field("low"), y1: field("high"), source: data, line_color: COLOURS.sky, line_alpha: n > 300 ? 0.5 : 1, line_width: n > 300 ? 1 : 2 });
    const points = made.scatter({ x: field("x"), y: field("y"), source: data, size: n > 300 ? 3 : 5, fill_color: COLOURS.blue, line_color: null });
    hover(made, [points], itemWords);
    return showPlot(made, place);
  });
  return element("div", {}, element("div", { className: "tools soft" }, (n < ITEMS.n_all ? "The best " : "All ") + plural(n, "item")), host);
}

function moves() {
  const moved = DATA.moves;
  if (!moved) return null;
  const host = element("div", { id: "moves" }, element("h3", {}, "Items that really moved since last time"));
  const compared = plural(moved.n_compared, "item was", "items were") + " ranked both times" + (moved.n_new ? ", " + number(moved.n_new) + " new" : "") + " (earlier results: " + short(moved.since, 60) + ").";
  if (!moved.item.length) host.append(element("p", {}, "None moved beyond what the intervals allow. ", element("span", { className: "soft" }, compared)));
  else {
    const inside = element("div");
    host.append(element("p", {}, plural(DATA.n_moved, "item") + " moved farther than the intervals allow" + (DATA.n_moved > moved.item.length ? "; the table has the " + number(moved.item.length) + " that moved farthest. " : ". "), element("span", { className: "soft" }, compared)), inside);
    table(inside, {
      columns: [
        { title: "Item", wide: true, value: (k) => itemName(moved.item[k]), cell: (k) => itemNode(moved.item[k]) },
        { title: "Before", kind: "number", value: (k) => -moved.before[k], cell: (k) => element("span", {}, number(moved.before[k]), " ", element("span", { className: "interval short small soft" }, span(moved.before_low[k], moved.before_high[k]))) },
        { title: "Now", kind: "number", value: (k) => -moved.now[k], cell: (k) => element("span", {}, number(moved.now[k]), " ", element("span", { className: "interval short small soft" }, span(moved.now_low[k], moved.now_high[k]))) },
        { title: "Moved", kind: "number", value: (k) => moved.before[k] - moved.now[k], cell: (k) => arrow(moved.before[k] - moved.now[k]) },
      ],
      rows: moved.item.map((_, k) => k), size: 10,
    });
  }
  return host;
}

function arrow(places) {
  return element("span", { className: "shift " + (places > 0 ? "up" : "down") }, (places > 0 ? "▲ " : "▼ ") + number(Math.abs(places)) + (places > 0 ? " up" : " down"));
}

function drawPage() {
  const sections = [headSection(), trustSection(), explorerSection(), rankingSection(), votesSection(), peopleSection(), concentrationSection(), selfTestSection(), diagnosticsSection()].filter((made) => made);
  const jumps = [["trust", "Look first"], ["explorer", "What if"], ["ranking", "Ranking"], ["votes", "Votes"], ["people", "People"], ["concentration", "Campaigns"], ["self-test", "Self-test"], ["diagnostics", "Details"]]
    .filter(([id]) => sections.some((section) => section.id === id));
  const from = HEAD.night ? "Night of " + HEAD.night : "";
  document.body.append(
    element("header", { className: "top" }, element("h1", {}, short(DATA.attribute, 120)), from ? element("span", { className: "soft" }, from) : null,
      element("nav", { "aria-label": "On this page" }, HEAD.latest ? link(HEAD.latest, "‹ Newest report", { id: "latest" }) : null,
        HEAD.overview ? link(HEAD.overview, "‹ All attributes" + (HEAD.latest && HEAD.night ? " that night" : ""), { id: "overview" }) : null, jumps.map(([id, words]) => link("#" + id, words)))),
    element("main", {}, sections),
    element("footer", {}, HEAD.run ? "Run " + short(HEAD.run, 80) + ". " : "", "This page loads nothing but the files beside it and the images that items name."));
  drawPlots();
}

drawPage();
