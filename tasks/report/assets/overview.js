// The overview of a night. Everything was decided where the page was made; here it is drawn.

const DAY = 86400000;
const NIGHTS_BEFORE = PAGE.accounting.nights.length - 1;

const UNITS = {
  count: (value) => number(value),
  people: (value) => plural(value, "person", "people"),
  votes: (value) => number(value, 1) + " votes",
  percent: (value) => percent(value, 1),
  distance: (value) => number(value, 3),
  seconds: (value) => duration(value),
  bytes: (value) => number(value / 1048576) + " MB",
};

function told(value, unit) { return value === null || value === undefined ? "not known" : UNITS[unit](value); }

function duration(seconds) {
  if (seconds < 100) return number(seconds, 1) + " s";
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? minutes + " min" : Math.floor(minutes / 60) + " h " + (minutes % 60) + " min";
}

function section(id, title, said, ...children) {
  return element("section", { id: id }, element("h2", {}, title), said ? element("p", { className: "soft" }, said) : null, children);
}

function host() { return element("div"); }

function wordKind(word) { return word.startsWith("jumped") ? "warn" : "calm"; }

// A command that can be copied: into the clipboard where the browser lets us, else it is selected.
function command(text) {
  const code = element("code", {}, text);
  const button = element("button", { type: "button", className: "copy", onclick: async () => {
    getSelection().selectAllChildren(code);
    let done = true;
    try { await navigator.clipboard.writeText(text); } catch { done = document.execCommand("copy"); }
    button.textContent = done ? "Copied" : "Selected";
  } }, "Copy");
  return element("div", { className: "command copyable" }, code, button);
}

// ---------------------------------------------------------------- head

const SECTIONS = [
  ["troubles", "What needs you"], ["attributes", "Attributes"], ["accounting", "Rows"], ["trend", "Trend"],
  ["drift", "Incoming votes"], ["took", "Time and memory"], ["live", "What serves"], ["notes", "Notes"],
];

const STATE_KINDS = { Completed: ["completed", "good"], Partial: ["completed in part", "warn"], Failed: ["failed", "bad"] };

function head() {
  return element("header", { className: "top" },
    element("h1", {}, "Night of " + PAGE.night + " "), state(...STATE_KINDS[PAGE.state]),
    element("nav", { "aria-label": "Sections" }, SECTIONS.map(([id, title]) => link("#" + id, title))));
}

function opening() {
  const age = Math.floor((Date.now() - PAGE.written) / DAY);
  return element("section", { id: "tonight" },
    element("p", { className: "lead" }, PAGE.sentence),
    age >= 2 ? element("div", { className: "notice", id: "age" },
      "This page was written " + plural(age, "day") + " ago and says how things stood then. If it is the latest one, no night has finished since.") : null,
    PAGE.warnings.map((text) => element("div", { className: "notice" + (PAGE.state === "Failed" && text.startsWith("The night failed") ? " bad" : "") }, text)),
    element("div", { className: "cards fresh" }, PAGE.cards.map((one) => element("div", { className: "card " + one.kind },
      element("div", { className: "label" }, one.label), element("div", { className: "figure" }, one.figure),
      element("div", {}, state(one.word, one.kind)), element("div", { className: "small soft" }, one.note)))),
    element("div", { className: "cards figures" }, PAGE.figures.map((one) =>
      card(one.label, told(one.value, one.unit), one.kind === "calm" ? "" : one.kind, one.word))));
}

// ---------------------------------------------------------------- what needs somebody

function troubles() {
  const found = PAGE.troubles;
  const made = section("troubles", "What needs you", null);
  for (const one of PAGE.groups) {
    made.append(element("div", { className: "notice bad" }, element("strong", {}, one.page ? link(one.page, one.name) : one.name,
      ": people act together. "), one.words + ".", one.what ? element("div", { className: "small" }, one.what + ".") : null));
  }
  if (!found.rows.length) {
    made.append(element("div", { className: "notice good" }, "Nothing: no attribute failed, and none is held back."));
    return made;
  }
  made.append(element("p", {}, plural(found.failed, "attribute") + " failed, " + number(found.held) + " held back. "
    + "What is held back goes on serving its last ranking, and is tried again by itself when new votes come."));
  if (found.commands.length) made.append(element("p", {}, "Once what failed is mended, this does it again:"), ...found.commands.map(command));
  const place = host();
  made.append(place);
  table(place, {
    columns: [
      { title: "Attribute", kind: "text", wide: true, value: (row) => row.name,
        cell: (row) => [named(row.name), element("div", {}, state(row.state, PAGE.states[row.state]))] },
      { title: "Why, and what to do", kind: "text", value: (row) => row.why, cell: (row) => element("div", { className: "why" },
        element("div", {}, row.why), element("div", { className: "small soft" }, row.state.startsWith("failed") ? "Once mended:" : "To publish it anyway:"),
        command(row.command)) },
    ],
    rows: found.rows, size: 5, find: "Find an attribute or a reason",
    choices: { title: "All states", of: (row) => row.state },
  });
  if (found.more) made.append(element("p", { className: "soft" }, "And " + number(found.more) + " more, in the table below."));
  return made;
}

// ---------------------------------------------------------------- attributes

function rowsOf(columns) {
  const names = Object.keys(columns);
  return names.length ? columns.name.map((_, k) => ({ place: k, ...Object.fromEntries(names.map((name) => [name, columns[name][k]])) })) : [];
}

function withInterval(three, write, ends = write) {
  if (three[0] === null) return "";
  const [low, high] = three.slice(1).map((x) => (x === null ? "?" : ends(x)));
  return [write(three[0]), element("div", { className: "small soft" }, low + " to " + high)];
}

// What the check said, where the state does not say it all.
function checked(row) {
  const said = row.verdict.replace(/^unchanged \((.*)\)$/, "$1");
  return ["failed", "held back", "still held back", "published"].includes(row.state) ? said.replace(/^\w+ ?/, "") : said;
}

function attributes() {
  const rows = rowsOf(PAGE.attributes);
  const interval = PAGE.level ? ", with its " + PAGE.level + " interval" : ", with its interval";
  const place = element("div", { className: "dense" });
  const made = section("attributes", "Attributes", "Worst first: failed, held back, got worse, then those whose ranking foretells unseen votes least. "
    + "Kendall tau distance is the share of unseen votes that the ranking gets wrong: 0 is best, 0.5 is guessing. "
    + "Changes are in Kendall tau (1 less twice the distance): above 0 is better. What is said of one that failed is what was known before.", place);
  table(place, {
    columns: [
      { title: "Attribute", kind: "text", wide: true, value: (row) => row.name,
        cell: (row) => (row.link ? link(row.link, short(row.name), { className: "name" }) : named(row.name)) },
      { title: "State", kind: "text", hint: "What became of it, and what the check of new rankings said; sorts worst first", value: (row) => row.state, order: (row) => row.place, 
        cell: (row) => [state(row.state, PAGE.states[row.state]), element("div", { className: "small soft nowrap" }, checked(row))] },
      { title: "Votes", kind: "number", hint: "Votes that count, ties included", value: (row) => row.votes, cell: (row) => number(row.votes) },
      { title: "New", kind: "number", hint: "Votes that the last results did not have", value: (row) => row.new, cell: (row) => number(row.new) },
      { title: "Set aside", kind: "number", hint: "Share of votes set aside as contradicting the others; votes read the other way round are not among them", value: (row) => row.aside, cell: (row) => percent(row.aside, 1) },
      { title: "Tau distance", kind: "number", hint: "Kendall tau distance: share of unseen votes that the ranking gets wrong" + interval,
        value: (row) => row.distance[0], cell: (row) => withInterval(row.distance, (x) => number(x, 3), (x) => number(x, 2)) },
      { title: "Since last", kind: "number", hint: "Kendall tau less that of the night before; above 0 is better", value: (row) => row.change, cell: (row) => signed(row.change) },
      { title: "Against live", kind: "number", hint: "Kendall tau less that of the ranking in use when it was checked, on the same votes" + interval,
        value: (row) => row.gain[0], cell: (row) => withInterval(row.gain, (x) => signed(x), (x) => signed(x, 2)) },
      { title: "Self-test", kind: "number", hint: "How well votes flipped on purpose are found (AUC): 1 is best, 0.5 is guessing; with its interval",
        value: (row) => row.auc[0], cell: (row) => withInterval(row.auc, (x) => number(x, 2)) },
      { title: "Not to trust", kind: "number", hint: "People who are careless, reversed, one-sided or coordinated", value: (row) => row.people, cell: (row) => number(row.people) },
      { title: "Time", kind: "number", hint: "Seconds of computing tonight; nothing where nothing was computed", value: (row) => row.seconds,
        cell: (row) => (row.seconds === null ? "" : number(row.seconds, 1) + " s") },
      { title: "Serves", kind: "text", hint: "Version that serves, and since when", value: (row) => row.since || "",
        cell: (row) => (row.live === null ? "nothing" : ["v" + row.live, element("div", { className: "small soft nowrap" }, row.since)]) },
    ],
    rows: rows, size: 50, find: "Find an attribute", choices: { title: "All states", of: (row) => row.state },
    empty: "No attribute was ever seen.",
  });
  return made;
}

// ---------------------------------------------------------------- rows

function plain(titles, rows, numbers) {
  return element("div", { className: "scroll", tabindex: 0 }, element("table", {},
    element("thead", {}, element("tr", {}, titles.map((title, k) => element("th", { scope: "col", className: numbers.includes(k) ? "number" : null }, title)))),
    element("tbody", {}, rows.map((cells) => element("tr", { className: cells.className || null },
      cells.map((cell, k) => element("td", { className: numbers.includes(k) ? "number" : "name" }, cell)))))));
}

function lastNights(row, unit) {
  if (row.middle === null) return "";
  const same = row.low === row.high || UNITS[unit](row.low) === UNITS[unit](row.high);
  return same ? UNITS[unit](row.middle) : [UNITS[unit](row.middle), element("div", { className: "small soft" }, UNITS[unit](row.low) + " to " + UNITS[unit](row.high))];
}

function accounting() {
  const { nights, reasons } = PAGE.accounting;
  const fates = ["used", "ties", "skipped", "rejected"];
  const rows = nights.map((one, k) => {
    const whole = fates.reduce((sum, fate) => sum + one[fate], 0);
    const cells = [k === 0 ? one.night + " (this run)" : one.night, number(one.read),
      ...fates.map((fate) => [number(one[fate]), element("div", { className: "small soft" }, one.read ? percent(one[fate] / one.read, 1) : "")]),
      whole === one.read ? "yes" : state("off by " + number(one.read - whole), "bad")];
    if (k === 0) cells.className = "tonight";
    return cells;
  });
  const made = section("accounting", "What became of every row", "Every row read is used, a tie, skipped by the annotator, or rejected with a reason; nothing is lost. "
    + (NIGHTS_BEFORE ? "This run beside the last " + plural(NIGHTS_BEFORE, "night") + "." : "There is no earlier night to compare with."));
  made.append(plain(["Night", "Rows read", "Used", "Ties", "Skipped", "Rejected", "Adds up"], rows, [1, 2, 3, 4, 5]));
  if (reasons.length) {
    made.append(element("h3", {}, "Why rows do not count"), element("p", { className: "soft" }, "Beside the last nights: their middle, and their range."),
      plain(["Reason", "Rows tonight", "Last nights", ""], reasons.map((one) =>
        [one.reason, number(one.tonight), lastNights(one, "count"), state(one.word, wordKind(one.word))]), [1, 2]));
  }
  return made;
}

// ---------------------------------------------------------------- plots

// The span shown is at least a tenth of the middle, so that no hair looks like a mountain.
function spanOf(Bokeh, values) {
  const found = values.filter((value) => value !== null && value !== undefined);
  const low = Math.min(...found), high = Math.max(...found), middle = (low + high) / 2;
  const half = Math.max((high - low) * 0.58, Math.abs(middle) * 0.05, 1e-3);
  return new Bokeh.Range1d({ start: middle - half, end: middle + half });
}

function timesOf(Bokeh, times) {
  const low = Math.min(...times), high = Math.max(...times);
  const margin = high > low ? (high - low) * 0.05 : DAY / 2;
  return new Bokeh.Range1d({ start: low - margin, end: high + margin });
}

function timePlot(Bokeh, height, format, times, values) {
  const figure = Bokeh.Plotting.figure({ height: height, sizing_mode: "stretch_width", x_axis_type: "datetime",
    x_range: timesOf(Bokeh, times), y_range: spanOf(Bokeh, values), tools: "", toolbar_location: null,
    outline_line_color: null, min_border_left: 52, min_border_right: 14, background_fill_color: null, border_fill_color: null });
  for (const axis of [...figure.below, ...figure.left]) {
    Object.assign(axis, { axis_line_color: COLOURS.line, major_tick_line_color: COLOURS.line, minor_tick_line_color: null,
      major_label_text_color: COLOURS.soft, major_label_text_font_size: "12px" });
  }
  const days = new Bokeh.DatetimeTickFormatter({ seconds: "%H:%M:%S", minsec: "%H:%M:%S", minutes: "%H:%M", hourmin: "%H:%M", hours: "%d %b %H:%M", days: "%d %b", months: "%d %b", years: "%Y" });
  Object.assign(figure.below[0], { formatter: days });
  figure.below[0].ticker.desired_num_ticks = 5;
  Object.assign(figure.left[0], { formatter: new Bokeh.NumeralTickFormatter({ format: format }) });
  figure.left[0].ticker.desired_num_ticks = 4;
  for (const grid of figure.center) grid.grid_line_color = grid.dimension === 1 ? COLOURS.line : null;
  return figure;
}

function known(times, values) {
  const kept = times.map((time, k) => [time, values[k]]).filter(([, value]) => value !== null && value !== undefined);
  return { x: kept.map(([time]) => time), y: kept.map(([, value]) => value) };
}

function dots(figure, points, colour, marker) {
  figure.line({ x: points.x, y: points.y, line_color: colour, line_width: 2 });
  figure.scatter({ x: points.x, y: points.y, marker: marker, size: 6, fill_color: colour, line_color: colour });
}

function key(colour, sign, text) {
  return element("span", { className: "key" }, element("span", { style: "color:" + colour, "aria-hidden": "true" }, sign), " " + text);
}

function trend() {
  const given = PAGE.trend;
  const plot = element("div", { className: "plot", id: "trend-plot" });
  const said = element("p", { className: "small", role: "status" });
  const names = element("datalist", { id: "trend-names" });
  const chooser = element("input", { type: "search", list: "trend-names", placeholder: "Show one attribute", "aria-label": "Show one attribute",
    onchange: () => draw() });
  // A thousand options are made when somebody wants them, not before the first paint.
  chooser.onfocus = () => { if (!names.childElementCount) names.append(...given.names.map((name) => element("option", { value: name }))); };
  const made = section("trend", "Kendall tau over the nights", "How well rankings foretell votes they have not seen: 1 is always right, 0 is guessing.",
    element("div", { className: "tools keys" }, chooser, key(COLOURS.blue, "●", "median of all attributes"), key("#a9d3ea", "■", "middle half of them"), key(COLOURS.red, "▲", "the one chosen")),
    said, plot);
  if (!given.quartiles.some((three) => three)) plot.append(element("p", { className: "soft" }, "Nothing was judged yet."));
  else made.draw = draw;
  return made;

  function draw() {
    return withBokeh().then((Bokeh) => {
      const spans = given.times.map((time, k) => [time, given.quartiles[k]]).filter(([, three]) => three);
      const x = spans.map(([time]) => time), quartile = (k) => spans.map(([, three]) => three[k]);
      const wanted = chooser.value.trim();
      const place = given.names.indexOf(wanted);
      const chosen = place < 0 ? null : known(given.times, given.attributes[place]);
      const figure = timePlot(Bokeh, 260, "0.00", given.times, [...quartile(0), ...quartile(2), ...(chosen ? chosen.y : [])]);
      figure.varea({ x: x, y1: quartile(0), y2: quartile(2), fill_color: COLOURS.sky, fill_alpha: 0.35 });
      dots(figure, { x: x, y: quartile(1) }, COLOURS.blue, "circle");
      if (chosen) dots(figure, chosen, COLOURS.red, "triangle");
      const last = spans[spans.length - 1][1];
      said.textContent = visible(!wanted ? "Tonight half of the attributes lie between " + number(last[0], 3) + " and " + number(last[2], 3) + ", the middle one at " + number(last[1], 3) + "."
        : !chosen ? "No attribute is called " + short(wanted) + "."
        : chosen.y.length ? short(wanted) + ": " + number(chosen.y[chosen.y.length - 1], 3) + " on the last of " + plural(chosen.y.length, "night") + "." : short(wanted) + " was never judged.");
      plot.replaceChildren();
      return Bokeh.Plotting.show(figure, plot);
    });
  }
}

function drift() {
  const given = PAGE.drift;
  const formats = { people: "0,0", percent: "0.0%", votes: "0.0" };
  const panels = given.panels.map((one) => {
    const plot = element("div", { className: "plot" });
    const range = one.middle === null ? "" : " Last nights: " + told(one.low, one.unit) + " to " + told(one.high, one.unit) + ".";
    const made = element("div", { className: "panel" }, element("h3", {}, one.title, " ", state(one.word, wordKind(one.word))),
      element("p", { className: "small" }, "Tonight: " + told(one.tonight, one.unit) + "." + range), plot);
    made.draw = () => (one.values.some((value) => value !== null) ? withBokeh().then((Bokeh) => {
      const figure = timePlot(Bokeh, 150, formats[one.unit], given.times, [...one.values, ...one.medians]);
      if (one.medians.length) {
        const middle = known(given.times, one.medians);
        figure.line({ x: middle.x, y: middle.y, line_color: COLOURS.soft, line_dash: [4, 3], line_width: 1.5 });
      }
      const points = known(given.times, one.values);
      dots(figure, points, COLOURS.blue, "circle");
      if (one.word.startsWith("jumped")) figure.scatter({ x: points.x.slice(-1), y: points.y.slice(-1), marker: "diamond", size: 14, fill_color: COLOURS.red, line_color: COLOURS.red });
      return Bokeh.Plotting.show(figure, plot);
    }) : null);
    return made;
  });
  const made = section("drift", "Incoming votes", "A figure jumped when it lies beyond the range of the last nights by more than their spread.",
    element("div", { className: "tools keys" }, key(COLOURS.blue, "●", "over all votes"), key(COLOURS.soft, "╌", "median over attributes"), key(COLOURS.red, "◆", "jumped")),
    element("div", { className: "two" }, panels));
  made.draw = () => Promise.all(panels.map((one) => one.draw()));
  return made;
}

// ---------------------------------------------------------------- the machine, and what serves

function took() {
  return section("took", "Time and memory", "This run beside the last nights: their middle, and their range.",
    plain(["What", "This run", "Last nights", ""], PAGE.took.map((one) =>
      [one.what, told(one.tonight, one.unit), lastNights(one, one.unit), state(one.word, wordKind(one.word))]), [1, 2]));
}

function live() {
  const place = host();
  const made = section("live", "What serves, since when", "Oldest first. A ranking serves until a new one passes its check.", place);
  table(place, {
    columns: [
      { title: "Attribute", kind: "text", wide: true, value: (row) => row[0], cell: (row) => named(row[0]) },
      { title: "Version", kind: "number", value: (row) => row[1], cell: (row) => "v" + row[1] },
      { title: "Serves since", kind: "text", value: (row) => row[2] || "" },
      { title: "Votes up to the night of", kind: "text", value: (row) => row[3] || "" },
      { title: "Serves for", kind: "number", value: (row) => row[4], cell: (row) => (row[4] === null ? "" : plural(row[4], "day")) },
    ],
    rows: PAGE.live, size: 10, find: "Find an attribute", empty: "Nothing serves yet.",
  });
  return made;
}

function notes() {
  const list = (texts) => element("ul", {}, texts.map((text) => element("li", { className: "name" }, text)));
  const made = section("notes", "Notes", null);
  if (PAGE.notes.length) made.append(list(PAGE.notes));
  if (PAGE.refused.length) made.append(element("h3", {}, "Objects left aside"), element("p", { className: "soft" }, "They lie among the votes and belong to no attribute."), list(PAGE.refused));
  if (PAGE.hidden) made.append(element("p", { className: "soft" }, "And " + number(PAGE.hidden) + " more, in run.json."));
  if (!PAGE.notes.length && !PAGE.refused.length) made.append(element("p", { className: "soft" }, "There is nothing else to say."));
  return made;
}

const drawn = [troubles(), attributes(), accounting(), trend(), drift(), took(), live(), notes()];
document.body.append(head(), element("main", {}, opening(), drawn),
  element("footer", {}, "Run " + PAGE.run + ", finished " + PAGE.finished + ". All times are UTC. This page loads nothing from elsewhere."));
if (location.hash) byId(location.hash.slice(1))?.scrollIntoView();

// A plot is as wide as the window was; paper is narrower, and all else would be made small with it.
const PAPER = 677;
addEventListener("beforeprint", () => {
  const wide = document.querySelector("#trend").clientWidth;
  for (const plot of document.querySelectorAll(".plot")) plot.style.zoom = Math.min(1, PAPER / wide);
});
addEventListener("afterprint", () => { for (const plot of document.querySelectorAll(".plot")) plot.style.zoom = ""; });

// Plots come after the first paint.
requestAnimationFrame(() => setTimeout(async () => {
  for (const one of drawn) if (one.draw) await one.draw();
  document.body.dataset.ready = "yes";
}));
