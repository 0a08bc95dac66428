// The path explorer: a slider over the share of votes to set aside, and what would come of it.

const TOP = 10;
const ON_A_PAGE = 10;

function explorerSection() {
  const section = pageSection("explorer", "What if more or fewer votes were set aside?",
    "Move the slider (or use the arrow keys). If agreement with votes that were kept back hardly changes and the top stays the same, the choice does not matter much; if it rises and then falls, the chosen share should sit near the top of the curve.");
  const path = DATA.explorer;
  if (!path || !path.share.length) {
    section.append(element("p", { className: "soft" }, "Not known here: " + short(DATA.no_explorer || "other shares were not tried.", 600)));
    return section;
  }
  const last = path.share.length - 1;
  const what = path.of_edges ? "edges" : "votes";
  if (path.of_edges) section.append(element("p", { className: "small soft" }, "Shares are of edges: an edge is all votes for one item over another, and they are set aside together."));
  const chosen = path.share.reduce((best, share, k) => (Math.abs(share - path.chosen) < Math.abs(path.share[best] - path.chosen) ? k : best), 0);
  const slider = element("input", { type: "range", id: "share", min: 0, max: last, step: 1, value: chosen, "aria-label": "Share of " + what + " to set aside", oninput: show });
  const back = element("button", { type: "button", id: "chosen-share", onclick: () => { slider.value = chosen; show(); } }, "Back to the chosen " + percent(path.chosen, 1));
  const said = element("p", { className: "said", role: "status", "aria-live": "polite", id: "explorer-said" });
  const cards = element("div", { className: "cards", id: "explorer-cards" });
  const top = element("ol", { className: "top", id: "explorer-top" });
  const gone = element("p", { className: "small soft", id: "explorer-gone" });
  const list = element("div", { id: "explorer-votes", className: "stack" });
  let marker = null;
  let page = 0;
  let asked = 0;

  const curve = plot("Held-out agreement by share of " + what + " set aside", (host) => {
    const x = numbers(path.share, 100), y = numbers(path.agreement, 100);
    const made = figure({ height: 280, x: what + " set aside, %", y: "held-out votes foretold, %", wide: true });
    made.varea({ x: field("x"), y1: field("low"), y2: field("high"), source: source({ x, low: numbers(path.low, 100), high: numbers(path.high, 100) }), fill_color: COLOURS.sky, fill_alpha: 0.3 });
    made.line({ x: field("x"), y: field("y"), source: source({ x, y }), line_color: COLOURS.blue, line_width: 2 });
    const points = made.scatter({ x: field("x"), y: field("y"), source: source({ x, y }), size: 6, fill_color: COLOURS.blue, line_color: "white" });
    made.scatter({ x: field("x"), y: field("y"), source: source({ x: [x[chosen]], y: [y[chosen]] }), size: 15, marker: "diamond", fill_color: COLOURS.green, line_color: "white" });
    const here = source({ x: [], y: [] });
    made.scatter({ x: field("x"), y: field("y"), source: here, size: 17, marker: "circle", fill_alpha: 0, line_color: COLOURS.red, line_width: 3 });
    marker = (k) => { here.data = { x: [x[k]], y: [y[k]] }; };
    marker(Number(slider.value));
    hover(made, [points], (k) => [percent(path.share[k], 1) + " set aside", range(path.agreement[k], path.low[k], path.high[k])]);
    return showPlot(made, host);
  });

  const at = last ? chosen / last : 0;
  section.append(
    element("div", { className: "slider" }, element("label", { for: "share" }, "Share of " + what + " to set aside"), slider,
      element("div", { className: "scale small soft", "aria-hidden": "true" },
        element("span", {}, percent(path.share[0])),
        element("span", { className: "mark", style: "left: calc(8px + (100% - 16px) * " + at + ")" }, "▲"),
        element("span", { className: "mark word", style: at > 0.5 ? "right: calc((100% - 16px) * " + (1 - at) + ")" : "left: calc((100% - 16px) * " + at + ")" }, "chosen"),
        element("span", {}, percent(path.share[last]))), back),
    said, cards,
    element("div", { className: "two" },
      element("div", {}, element("h3", {}, "Agreement with votes kept back"), curve,
        legend(["○", COLOURS.red, "the slider"], ["◆", COLOURS.green, "the chosen share"], ["▬", COLOURS.sky, "90 % interval"])),
      element("div", {}, element("h3", {}, "The top ten then"), top, gone)),
    element("h3", {}, "Votes set aside at this share"),
    element("p", { className: "small soft" }, "The last to be set aside first. Marked votes are those that the next smaller share would keep."),
    list);
  show();
  return section;

  function show() {
    const k = Number(slider.value);
    const n = path.n_pruned[k];
    slider.setAttribute("aria-valuetext", percent(path.share[k], 1) + " set aside");
    const same = path.top[k].filter((item) => path.top[chosen].includes(item)).length;
    const few = Math.min(TOP, path.top[chosen].length);
    said.textContent = percent(path.share[k], 1) + " set aside" + (k === chosen ? " (chosen)" : "") + ": " + plural(n, "vote") + ". The ranking then foretells "
      + range(path.agreement[k], path.low[k], path.high[k]) + " of " + plural(path.n_held_out, "vote") + " kept back; " + same + " of the top " + few + " are the same."
      + (path.share[0] > 0 ? " The votes of people who act together, the first " + percent(path.share[0], 1) + ", are set aside at every share." : "")
      + (DATA.n_turned ? " At every share, the votes of people who are mostly wrong stay read the other way round (" + number(DATA.n_turned) + " at the chosen one)." : "");
    const likeness = path.tau_chosen[k] === null ? null : (1 + path.tau_chosen[k]) / 2;
    cards.replaceChildren(
      card("share set aside", percent(path.share[k], 1), k === chosen ? "good" : "", k === chosen ? "the chosen share" : "chosen: " + percent(path.chosen, 1)),
      card("votes set aside", number(n), "", k > 0 ? number(n - path.n_pruned[k - 1]) + " more than at " + percent(path.share[k - 1], 1) : ""),
      card("of the votes kept back are foretold", percent(path.agreement[k], 1), "", path.low[k] === null ? "" : percent(path.low[k], 1) + " to " + percent(path.high[k], 1)),
      card("of all pairs in the same order as chosen", percent(likeness, 1)));
    back.disabled = k === chosen;
    topTen(k);
    if (marker) marker(k);
    page = 0;
    votes(k);
  }

  function topTen(k) {
    const before = path.top[chosen];
    top.replaceChildren(...path.top[k].map((item, place) => {
      const then = before.indexOf(item);
      const [word, kind] = then < 0 ? ["new", "new"] : then === place ? ["=", "same"] : then > place ? ["▲ " + (then - place), "up"] : ["▼ " + (place - then), "down"];
      const hint = then < 0 ? "not in the top ten at the chosen share" : then === place ? "same place as at the chosen share" : "place " + (then + 1) + " at the chosen share";
      return element("li", {}, itemNode(item, 48), " ", element("span", { className: "shift " + kind, title: hint }, word));
    }));
    const lost = before.filter((item) => !path.top[k].includes(item));
    gone.replaceChildren(lost.length ? "No longer in the top: " : "Nobody has left the top ten of the chosen share.", ...lost.flatMap((item, place) => [place ? ", " : "", named(itemName(item), 40)]));
  }

  async function votes(k) {
    const asking = ++asked;
    const n = Math.min(path.n_pruned[k], DATA.n_in_order || DATA.n_listed);
    const fresh = k > 0 ? path.n_pruned[k - 1] : 0;
    const stop = n - page * ON_A_PAGE;
    const start = Math.max(0, stop - ON_A_PAGE);
    let rows;
    try {
      rows = (await votesBetween(start, Math.max(stop, 0))).reverse();
    } catch (error) {
      if (asking === asked) list.replaceChildren(cannotLoad(error));
      return;
    }
    if (asking !== asked) return;  // the slider has moved on
    if (!n) { list.replaceChildren(element("p", { className: "soft" }, path.n_pruned[k] ? "They are not listed here." : "None.")); return; }
    const turn = (step) => { page += step; votes(k); };
    const left = element("button", { type: "button", onclick: () => turn(-1) }, "‹ Back");
    const right = element("button", { type: "button", onclick: () => turn(1) }, "Next ›");
    left.disabled = page === 0;
    right.disabled = start === 0;
    const beyond = path.n_pruned[k] > n ? " (of " + number(path.n_pruned[k]) + "; the list ends there)" : "";
    list.replaceChildren(
      element("div", { className: "tools" }, element("span", { className: "soft" }, "No. " + number(stop) + " to " + number(start + 1) + " of " + number(n) + beyond), left, right),
      element("div", { className: "scroll", tabindex: 0 }, element("table", {},
        element("thead", {}, element("tr", {}, ["No.", "The vote", "Cast by", "Why it is suspicious"].map((title, column) => element("th", { scope: "col", className: column ? null : "number" }, title)))),
        element("tbody", {}, rows.map((vote) => element("tr", { className: vote.place >= fresh ? "fresh" : null },
          element("td", { className: "number", "data-title": "No." }, (vote.place >= fresh ? "● " : "") + number(vote.place + 1)),
          element("td", { className: "name", "data-title": "The vote" }, voteWords(vote)),
          element("td", { className: "name", "data-title": "Cast by" }, named(personName(vote.person), 40)),
          element("td", { className: "name why", "data-title": "Why" }, vote.why || vote.reason ? whyNode(vote) : percent(vote.suspicion) ? "wrong with probability " + percent(vote.suspicion) : "")))))));
  }
}
