// Who not to trust: the notices at the top, the table of people, and where contrary votes come from.

const VERDICTS = {
  "fine": { kind: "good", marker: "circle", sign: "●", colour: COLOURS.blue, accused: false },
  "careless": { kind: "warn", marker: "triangle", sign: "▲", colour: COLOURS.orange, accused: true },
  "reversed": { kind: "bad", marker: "square", sign: "■", colour: COLOURS.red, accused: true },
  "one-sided": { kind: "warn", marker: "inverted_triangle", sign: "▼", colour: COLOURS.orange, accused: true },
  "coordinated": { kind: "bad", marker: "diamond", sign: "◆", colour: COLOURS.purple, accused: true },
  "different taste": { kind: "calm", marker: "hex", sign: "⬢", colour: COLOURS.sky, accused: false },
  "too few votes": { kind: "calm", marker: "cross", sign: "+", colour: COLOURS.soft, accused: false },
};
const GROUP_BEFORE = "against the consensus as part of a group"; // what an older urlr called the coordinated
const OTHER_VERDICT = { kind: "warn", marker: "star", sign: "★", colour: COLOURS.red, accused: true };
const NO_VERDICT = { kind: "calm", marker: "circle", sign: "●", colour: COLOURS.soft, accused: false };

function verdictOf(place) { return verdictLook(PEOPLE.verdict[place]); }
function verdictLook(verdict) { return verdict ? VERDICTS[verdict === GROUP_BEFORE ? "coordinated" : verdict] || OTHER_VERDICT : NO_VERDICT; }
function verdictWord(place) { return PEOPLE.verdict[place]; }
function notTrusted(place) { return verdictOf(place).accused; }
function flaggedPeople() { return PEOPLE.verdict.map((_, place) => place).filter(notTrusted); }

function listed(places, name, most = 8) {
  const shown = places.slice(0, most).flatMap((place, k) => [k ? ", " : "", named(name(place), 40)]);
  return places.length > most ? [...shown, " and " + number(places.length - most) + " more"] : shown;
}

function trustSection() {
  const { groups, clusters } = DATA.concentration;
  const flagged = flaggedPeople();
  if (!groups.length && !clusters.length && !flagged.length) return null;
  const section = pageSection("trust", "Look at these first",
    "People and items that contrary votes come from more often than chance explains. Talk to the people, look at the items, before paying or excluding anybody.");
  section.append(...groupNotices(groups));
  for (const cluster of clusters.slice(0, 5)) section.append(element("div", { className: "notice" }, short(cluster.words, 400)));
  if (DATA.n_clusters > 5) section.append(element("p", { className: "small" }, link("#concentration", number(DATA.n_clusters - 5) + " more places where contrary votes gather")));
  if (flagged.length) {
    const counts = new Map();
    for (const place of flagged) counts.set(verdictWord(place), (counts.get(verdictWord(place)) || 0) + 1);
    section.append(element("div", { className: "notice bad" },
      element("strong", {}, plural(flagged.length, "person is", "people are") + " not to be trusted"),
      " (" + [...counts].map(([word, n]) => number(n) + " " + word).join(", ") + "): ",
      listed(flagged, personName), ". ", link("#people", "What led to it")));
  }
  return section;
}

function groupNotices(groups) {
  const what = DATA.concentration.what;
  return [what ? element("div", { className: "notice bad", id: "together" }, element("strong", {}, short(what, 600))) : null, ...groups.map(groupNotice)].filter(Boolean);
}

function groupNotice(group) {
  return element("div", { className: "notice bad group" },
    element("strong", {}, plural(group.people.length, "person acts", "people act") + " together: "), listed(group.people, personName, 12),
    element("div", {}, "Together they cast " + plural(group.n_votes, "vote") + ", " + percent(group.n_votes / Math.max(DATA.diagnostics.n_votes, 1)) + " of all. "
      + (group.inside === null ? "No two of them judged the same pair" : "Where two of them judged the same pair they agree in " + percent(group.inside) + " of cases")
      + (group.outside === null ? "." : ", with all others in " + percent(group.outside) + ".")),
    group.items_up.length ? element("div", { className: "small" }, "They push up: ", listed(group.items_up, itemName)) : null,
    group.items_down.length ? element("div", { className: "small" }, "They push down: ", listed(group.items_down, itemName)) : null);
}

function peopleSection() {
  const section = pageSection("people", "People",
    "How far each person agrees with the ranking made without them: 1 is always, 0 is what guessing gives, below 0 is against it. Triangles, squares and diamonds are people to look at; a hexagon is another taste, which is nothing to hold against anybody; long bars mean few votes.");
  const n = PEOPLE.verdict.length;
  if (!n) {
    section.append(element("p", { className: "soft" }, "The votes do not say who cast them."));
    return section;
  }
  const order = PEOPLE.verdict.map((_, place) => place).filter((place) => PEOPLE.beyond_chance[place] !== null)
    .sort((one, other) => PEOPLE.beyond_chance[one] - PEOPLE.beyond_chance[other]);
  if (order.length) section.append(peoplePlot(order));
  const kinds = [...new Set(order.map((place) => PEOPLE.verdict[place]))];
  section.append(legend(...kinds.map((kind) => [verdictLook(kind).sign, verdictLook(kind).colour, kind])));
  if (PEOPLE.n_all > n) section.append(element("p", { className: "small soft" }, "The table has " + number(n) + " of " + plural(PEOPLE.n_all, "person", "people") + ", those not to trust first: all would make the page too large. " + whole("annotators")));
  const host = element("div", { id: "people-table", className: "stack" });
  section.append(host);
  const seen = (column) => PEOPLE[column].some((value) => value !== null);
  table(host, {
    columns: [
      { title: "Person", wide: true, value: (place) => personName(place), cell: (place) => element("span", {}, named(personName(place), 40), PEOPLE.is_new[place] ? element("span", { className: "small soft" }, " new") : null) },
      { title: "Verdict", value: verdictWord, cell: (place) => state(verdictWord(place), verdictOf(place).kind) },
      { title: "Votes", kind: "number", value: (place) => PEOPLE.n_votes[place], cell: (place) => number(PEOPLE.n_votes[place]) },
      { title: "Beyond chance", kind: "number", hint: "Agreement with the ranking made without them: 1 always, 0 as by guessing", value: (place) => PEOPLE.beyond_chance[place],
        cell: (place) => withInterval(PEOPLE.beyond_chance[place], PEOPLE.low[place], PEOPLE.high[place]) },
      { title: "Agrees", kind: "number", hint: "Share of their votes that go with the ranking; a typical person on the same pairs in brackets", value: (place) => PEOPLE.agreement[place],
        cell: (place) => percent(PEOPLE.agreement[place]) + (PEOPLE.expected[place] === null ? "" : " (" + percent(PEOPLE.expected[place]) + ")") },
      { title: ASIDE, kind: "number", hint: "Share of their votes that do not count as they were cast", value: (place) => PEOPLE.pruned[place], cell: (place) => percent(PEOPLE.pruned[place]) },
      ...(seen("left") ? [{ title: "Left", kind: "number", hint: "Share of choices for what was shown on the left", value: (place) => PEOPLE.left[place], cell: (place) => percent(PEOPLE.left[place]) }] : []),
      ...(seen("seconds") ? [{ title: "Time", kind: "number", hint: "Median seconds of a vote", value: (place) => PEOPLE.seconds[place], cell: (place) => (PEOPLE.seconds[place] === null ? "" : number(PEOPLE.seconds[place], 1) + " s") }] : []),
      { title: "What led to it", wide: true, value: (place) => PEOPLE.evidence[place], cell: (place) => element("span", { className: "small" }, short(PEOPLE.evidence[place], 400)) },
    ],
    rows: PEOPLE.verdict.map((_, place) => place), size: 25, find: "Search people", choices: { title: "Any verdict", of: verdictWord },
  });
  section.append(...tastesPart());
  return section;
}

function tastesPart() {
  if (!DATA.tastes.length) return [];
  const first = ITEMS.rank.map((_, place) => place).slice(0, 10);
  const columns = [["consensus", first, "what the person in the middle would say"], ...DATA.tastes.map((one, k) => [
    "taste " + (k + 1), one.top, plural(one.n_people, "person", "people") + ", " + percent(one.share) + "; tau with the consensus " + number(one.tau, 2)])];
  const row = (k) => element("tr", {}, element("td", { className: "number" }, String(k + 1)), ...columns.map(([, top]) => element("td", {}, k < top.length ? named(itemName(top[k]), 30) : "")));
  const head = element("tr", {}, element("th", {}, "Rank"), ...columns.map(([title, , hint]) => element("th", {}, title, element("div", { className: "small soft" }, hint))));
  return [
    element("h3", {}, "Tastes, side by side"),
    element("p", { className: "soft" }, "Groups of people who differ from the consensus alike. That is nothing to hold against anybody; their votes count."),
    ...DATA.tastes.map((one, k) => element("p", { className: "small" }, "Taste " + (k + 1) + ": " + one.words + ".")),
    element("table", { id: "tastes-table" }, element("thead", {}, head), element("tbody", {}, ...first.map((_, k) => row(k)))),
  ];
}

function peoplePlot(order) {
  return plot("Agreement beyond chance of " + plural(order.length, "person", "people") + " with intervals, lowest first", (host) => {
    const made = figure({ height: 300, x: "people, from the lowest agreement to the highest", y: "agreement beyond chance" });
    made.xaxis.major_label_text_font_size = "0px";
    made.xaxis.major_tick_line_color = null;
    const place = new Map(order.map((person, k) => [person, k]));
    const all = source({ x: order.map((_, k) => k), low: numbers(order.map((person) => PEOPLE.low[person])), high: numbers(order.map((person) => PEOPLE.high[person])) });
    made.segment({ x0: field("x"), x1: field("x"), y0: field("low"), y1: field("high"), source: all, line_color: "#b6c0ca", line_width: order.length > 150 ? 1 : 2 });
    for (const kind of new Set(order.map((person) => PEOPLE.verdict[person]))) {
      const look = verdictLook(kind);
      const of = order.filter((person) => PEOPLE.verdict[person] === kind);
      const drawn = made.scatter({ x: field("x"), y: field("y"), marker: look.marker, size: kind === "fine" ? (order.length > 150 ? 5 : 8) : 11, fill_color: look.colour, line_color: look.marker === "cross" ? look.colour : "white", line_width: look.marker === "cross" ? 2 : 1,
        source: source({ x: of.map((person) => place.get(person)), y: numbers(of.map((person) => PEOPLE.beyond_chance[person])) }) });
      hover(made, [drawn], (k) => [short(personName(of[k]), 60), verdictWord(of[k]), "beyond chance " + toldInterval(PEOPLE.beyond_chance[of[k]], PEOPLE.low[of[k]], PEOPLE.high[of[k]]), plural(PEOPLE.n_votes[of[k]], "vote")]);
    }
    made.line({ x: field("x"), y: field("y"), source: source({ x: [-0.5, order.length - 0.5], y: [0, 0] }), line_color: COLOURS.soft, line_dash: "dashed" });
    return showPlot(made, host);
  });
}

function concentrationSection() {
  const { clusters, groups, n_tests, level } = DATA.concentration;
  const section = pageSection("concentration", "Do contrary votes come from somewhere in particular?",
    "Many contrary votes by one person, on one item or within one span of time point to a campaign, a misunderstanding or a fault of the task.");
  section.append(element("p", {}, n_tests === 0 ? "Nothing could be looked at." : number(n_tests) + " people, items and spans of time were looked at; "
    + (clusters.length ? plural(DATA.n_clusters, "stands", "stand") + " out, of which about " + percent(level) + " would be expected by chance." + (DATA.n_clusters > clusters.length ? " The table has the " + number(clusters.length) + " most surprising." : "") : "none stands out.")));
  if (clusters.length) {
    const host = element("div", { id: "cluster-table" });
    section.append(host);
    table(host, {
      columns: [
        { title: "Kind", value: (one) => one.kind },
        { title: "Who, what or when", wide: true, value: (one) => one.name, cell: (one) => named(one.name, 60) },
        { title: "Contrary votes", kind: "number", value: (one) => one.n_contrary, cell: (one) => number(one.n_contrary) + " of " + number(one.n_votes) },
        { title: "Expected", kind: "number", value: (one) => one.expected, cell: (one) => number(one.expected, 1) },
        { title: "By chance", kind: "number", hint: "How likely chance alone gives as much, corrected for all that was looked at", value: (one) => one.q_value, cell: (one) => chance(one.q_value) },
        { title: "In words", wide: true, value: (one) => one.words, cell: (one) => element("span", { className: "small" }, short(one.words, 400)) },
      ],
      rows: clusters, size: 25, find: clusters.length > 10 ? "Search" : null, choices: { title: "People, items and times", of: (one) => one.kind },
    });
  }
  section.append(element("h3", {}, "Groups"));
  if (groups.length) section.append(...groups.map(groupNotice));
  else section.append(element("p", { className: "soft" }, "No people act together."));
  return section;
}

function chance(value) {
  if (value === null) return "";
  return value < 0.0001 ? "less than 0.01 %" : percent(value, 2);
}
