// The self-test, and what the numbers rest on.

const METHODS = {
  "urlr": "this ranking", "raw": "all votes, nothing set aside", "majority": "share of wins", "bradley-terry": "Bradley-Terry",
};

function selfTestSection() {
  const section = pageSection("self-test", "Would wrong votes be found? The self-test",
    "In a copy, some votes were turned around on purpose. The better they are found, the more the list of suspicious votes can be trusted.");
  const test = DATA.self_test;
  if (!test) {
    section.append(element("p", { className: "soft" }, "Not done: " + short(DATA.no_self_test || "the reason is not known.", 600)));
    return section;
  }
  const { value, low, high } = test.auc;
  section.append(element("p", {}, "Of " + plural(test.n_votes, "vote") + ", " + number(test.n_flipped) + " were turned around. Put a turned vote beside an untouched one: the turned one was judged the more suspicious in "
    + percent(value, 1) + " of all cases (90 % interval " + percent(low, 1) + " to " + percent(high, 1) + "; guessing would give 50 %). " + aucWords(value)
    + " Untouched votes that are suspicious anyway count as false finds, so that people who are often wrong lower these figures."));
  section.append(element("div", { className: "cards" },
    card("self-test (AUC): turned votes ranked before untouched ones", number(value, 2), aucKind(value), number(low, 2) + " to " + number(high, 2)),
    card("of the turned votes are among the most suspicious 20 %", percent(test.recall), "", "by chance 20 %"),
    card("as many turned votes are set aside as chance would", test.lift === null ? "–" : number(test.lift, 1) + " times", "", test.lift === null ? "no vote was set aside" : "at the chosen share")));
  return section;
}

function aucKind(value) { return value >= 0.85 ? "good" : value >= 0.7 ? "warn" : "bad"; }

function aucWords(value) {
  return value >= 0.85 ? "Wrong votes are found well." : value >= 0.7 ? "Many wrong votes are found; some stay hidden." : "Wrong votes are hard to find here: read the list of suspicious votes with care.";
}

function diagnosticsSection() {
  const facts = DATA.diagnostics;
  const section = pageSection("diagnostics", "What the numbers rest on", "For those who want to check. Warnings come first; a few votes for each item, and items that were never compared with the others, weaken every figure above.");
  for (const warning of facts.warnings) section.append(element("div", { className: "notice" }, short(warning, 600)));
  section.append(enough(facts.enough));
  section.append(element("h3", {}, "Compared with other ways of ranking"),
    element("p", { className: "small soft" }, "Kendall's tau with votes that no method has seen: 1 is perfect, 0 is chance. The higher the better."), methods());
  const halves = [];
  if (facts.votes_per_item.length) halves.push(element("div", {}, element("h3", {}, "Votes for each item"), bars("How many items have how many votes",
    { labels: binLabels(facts.votes_per_item_edges, facts.votes_per_item), counts: facts.votes_per_item, x: "votes on the item", y: "items", unit: "item" })));
  if (facts.residuals.length) halves.push(element("div", {}, element("h3", {}, "How far votes lie from the ranking"), residuals(facts)));
  section.append(element("div", { className: "two" }, halves));
  const sizes = facts.component_sizes.map((size) => number(size)).join(", ");
  section.append(element("h3", {}, "Numbers"), factTable([
    ["Votes, items, compared pairs", number(facts.n_votes) + ", " + number(facts.n_items) + ", " + number(facts.n_edges)],
    ["Groups of items that were never compared with each other", facts.n_components === 1 ? "one: every item can be compared with every other" : number(facts.n_components) + ", of " + sizes + (facts.n_components > facts.component_sizes.length ? " ... items" : " items") + "; ranks across them are guesses"],
    ["Solver", facts.solver],
    ["Certificate: largest violation of the optimality conditions", facts.violation === null ? "" : facts.violation.toExponential(1)],
    ["Ridge", facts.ridge === null ? "" : String(facts.ridge)],
    ["Votes read the other way round", number(DATA.n_turned)],
  ]));
  if (facts.notes.length) section.append(element("h3", {}, "Notes"), element("ul", {}, facts.notes.map((note) => element("li", { className: "name" }, short(note, 600)))));
  return section;
}

function factTable(rows) {
  return element("table", { className: "facts" }, element("tbody", {}, rows.map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", { className: "name" }, value)))));
}

function enough(facts) {
  const host = element("div", { id: "enough" }, element("h3", {}, "Are there enough votes?"), element("p", {}, short(facts.words, 600)));
  if (facts.votes.length < 2) return host;
  host.append(plot("Likeness of rankings by two crowds, by number of votes", (place) => {
    const x = facts.votes.map((votes) => Math.round(votes ?? 0));
    const labels = x.map((votes) => number(votes));
    const made = figure({ height: 200, x: "votes", y: "likeness of two crowds", x_range: new window.Bokeh.FactorRange({ factors: labels }), y_range: new window.Bokeh.Range1d({ start: 0, end: 1.05 }) });
    const data = source({ x: labels, y: numbers(facts.expected) });
    made.line({ x: field("x"), y: field("y"), source: data, line_color: COLOURS.blue, line_width: 2 });
    const points = made.scatter({ x: field("x"), y: field("y"), source: data, size: 9, fill_color: COLOURS.blue, line_color: "white" });
    hover(made, [points], (k) => [labels[k] + " votes", "likeness " + number(facts.expected[k], 2)]);
    return showPlot(made, place);
  }), element("p", { className: "small soft" }, "Correlation of the scores with those of another crowd that casts as many votes: 1 is the same, 0 is unrelated."));
  return host;
}

function methods() {
  const rows = HEAD.methods.length ? HEAD.methods : DATA.diagnostics.methods;
  if (!rows.length) return element("p", { className: "soft" }, "Not compared: too few votes could be kept back.");
  const best = (column) => Math.max(...rows.map((row) => row[column] ?? -2));
  const cell = (row, column) => element("td", { className: "number" }, row[column] === null ? "–" : row[column] === best(column) ? element("strong", {}, number(row[column], 3) + " best") : number(row[column], 3));
  return element("div", { className: "scroll narrow", tabindex: 0 }, element("table", { id: "methods" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Method"), element("th", { scope: "col", className: "number" }, "votes kept back"), element("th", { scope: "col", className: "number" }, "items never seen"))),
    element("tbody", {}, rows.map((row) => element("tr", {}, element("td", { className: "name" }, METHODS[row[0]] || short(row[0], 60)), cell(row, 1), cell(row, 2))))));
}

function residuals(facts) {
  return plot("Histogram of the distance between votes and ranking", (host) => {
    const edges = numbers(facts.residual_edges);
    const made = figure({ height: 200, x: "0: as the ranking says, 1: the opposite", y: "votes" });
    const drawn = made.quad({ left: field("left"), right: field("right"), top: field("top"), bottom: 0, fill_color: COLOURS.sky, line_color: COLOURS.blue,
      source: source({ left: edges.slice(0, -1), right: edges.slice(1), top: facts.residuals }) });
    made.y_range.start = 0;
    hover(made, [drawn], (k) => [number(edges[k], 2) + " to " + number(edges[k + 1], 2), plural(facts.residuals[k], "vote")]);
    return showPlot(made, host);
  });
}

// "0", "1-2", "3-9" ... from edges that a bin includes on its left only; the last may be open.
function binLabels(edges, counts) {
  const labels = counts.map((_, k) => {
    const from = Math.ceil(edges[k]), to = edges[k + 1] === undefined || edges[k + 1] === null ? null : Math.ceil(edges[k + 1]) - 1;
    return to === null ? number(from) + "+" : to <= from ? number(from) : number(from) + "–" + number(to);
  });
  return new Set(labels).size === labels.length ? labels : labels.map((label, k) => number(edges[k], 1) + " …");
}
