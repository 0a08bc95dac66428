// The list of suspicious votes: its first part is in the page, the others are loaded when wanted.

const DATA = PAGE.data;
const HEAD = PAGE.head;
const ITEMS = DATA.items;
const PEOPLE = DATA.people;

const voteParts = new Map();
const voteLoads = new Map();

// Names beyond the tables come with whatever points to them.
const NAMES = DATA.names;

function itemName(place) { return ITEMS.name[place] ?? NAMES.items[place] ?? "?"; }
function personName(place) { return place < 0 ? "nobody named" : PEOPLE.name[place] ?? NAMES.people[place] ?? "?"; }

function takePart(place, columns) {
  const start = place * DATA.n_per_part;
  Object.assign(NAMES.items, columns.items);
  Object.assign(NAMES.people, columns.people);
  const rows = columns.row.map((row, k) => ({
    row, place: start + k, winner: columns.winner[k], loser: columns.loser[k], person: columns.person[k],
    suspicion: columns.suspicion[k], margin: columns.margin[k], time: columns.time[k],
    pruned: columns.pruned[k], turned: (columns.turned || [])[k], reason: DATA.reasons[columns.reason[k]] || "", why: columns.why[k],
  }));
  voteParts.set(place, rows);
  return rows;
}

if (DATA.votes) takePart(0, DATA.votes);

const N_PARTS = DATA.n_listed ? Math.ceil(DATA.n_listed / DATA.n_per_part) : 0;

function votePart(place) {
  if (voteParts.has(place)) return Promise.resolve(voteParts.get(place));
  if (!voteLoads.has(place)) {
    const loading = part("votes-" + place).then((columns) => {
      if (!columns) throw new Error("votes-" + place + ".js holds no votes");
      return takePart(place, columns);
    });
    loading.catch(() => voteLoads.delete(place));  // to be tried again
    voteLoads.set(place, loading);
  }
  return voteLoads.get(place);
}

// The votes at places from `start` to before `stop` of the list.
async function votesBetween(start, stop) {
  const found = [];
  for (let place = Math.floor(start / DATA.n_per_part); place * DATA.n_per_part < stop; place++) {
    found.push(...(await votePart(place)).filter((vote) => vote.place >= start && vote.place < stop));
  }
  return found;
}

function cannotLoad(error) {
  return element("p", { className: "notice" }, "Some votes cannot be shown: " + error.message + ". Keep the page together with the files beside it.");
}

function voteWords(vote) {
  return element("span", {}, itemNode(vote.winner, 40), element("span", { className: "soft" }, " over "), itemNode(vote.loser, 40));
}

function whyNode(vote) {
  if (!vote.reason && !vote.why) return element("span", { className: "soft" }, "kept");
  return element("span", {}, vote.why ? element("span", {}, short(vote.why, 600)) : null,
    vote.why && vote.reason ? element("br") : null,
    vote.reason ? element("span", { className: vote.why ? "small soft" : null }, vote.reason) : null);
}

function fate(vote) { return !vote.pruned ? "kept" : vote.turned ? "read the other way round" : "set aside"; }

function votesSection() {
  const host = element("div", { id: "vote-table", className: "stack" });
  const section = pageSection("votes", "Votes set aside, and why",
    "The first to be set aside first. A vote is set aside when it speaks against what all the others say together; the reason names what it contradicts. Set aside means not counted, not deleted." + (DATA.n_turned ? " Votes of people who are mostly wrong count the other way round; they come last." : ""));
  if (!DATA.n_listed) {
    section.append(element("p", { className: "soft" }, "No vote stands out."));
    return section;
  }
  const named_ = PEOPLE.n_all > 0;
  const loaded = () => [...voteParts.keys()].sort((a, b) => a - b).flatMap((place) => voteParts.get(place));
  const more = element("div", { className: "tools", id: "more-votes" });
  section.append(more, host);
  const shown = table(host, {
    columns: [
      { title: "No.", kind: "number", value: (vote) => vote.place + 1, hint: "Place in the order in which votes are set aside" },
      { title: "The vote", wide: true, value: (vote) => itemName(vote.winner) + " over " + itemName(vote.loser), cell: voteWords },
      ...(named_ ? [{ title: "Cast by", wide: true, value: (vote) => personName(vote.person), cell: (vote) => named(personName(vote.person), 40) }] : []),
      { title: "Why", wide: "name why", value: (vote) => (vote.why || "") + " " + vote.reason, cell: whyNode },
      { title: "Likely wrong", kind: "number", value: (vote) => vote.suspicion, hint: "Probability that the vote is wrong",
        cell: (vote) => element("span", {}, element("div", {}, percent(vote.suspicion)), state(fate(vote), vote.pruned ? "warn" : "calm")) },
      { title: "When, and its id", wide: true, value: (vote) => (vote.time || "") + " " + vote.row,
        cell: (vote) => element("span", {}, element("div", {}, short((vote.time || "").replace("T", " "), 20)), element("div", { className: "small soft" }, named(vote.row, 40))) },
    ],
    rows: loaded(), size: 15, find: "Search items, people, reasons",
    choices: [
      { title: "Set aside or kept", of: fate, first: "set aside" },
      { title: "Any reason", of: (vote) => vote.reason || "no reason needed" },
      ...(named_ ? [{ title: "Anybody", of: (vote) => personName(vote.person) }] : []),
    ],
    empty: "No such vote among those listed.",
  });
  note();
  host.addEventListener("input", all);
  host.addEventListener("change", all);
  return section;

  function note() {
    const n = loaded().length;
    if (n >= DATA.n_listed) { more.replaceChildren(element("span", { className: "soft" }, "All " + plural(n, "suspicious vote") + " are in the list below.")); return; }
    more.replaceChildren(
      element("span", { className: "soft", role: "status" }, "The " + number(n) + " most suspicious of " + number(DATA.n_listed) + " listed votes are here; searching loads the others."),
      element("button", { type: "button", onclick: all }, "Load all " + number(DATA.n_listed)));
  }

  async function all() {
    if (voteParts.size >= N_PARTS) return;
    try {
      for (let place = 0; place < N_PARTS; place++) await votePart(place);
    } catch (error) {
      more.replaceChildren(cannotLoad(error));
      return;
    }
    shown.show(loaded());
    note();
  }
}
