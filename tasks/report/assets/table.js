// A table that sorts, filters and pages; only one page of rows is in the document.
//
// table(host, { columns, rows, sort, size, find, choices, empty })
//   columns   [{ title, value(row), cell(row), kind: "number" | "text", wide, hint }]; value sorts and is
//             searched where kind is "text"; cell gives a node or a text, by default the value;
//             order(row), where given, sorts in place of value
//   sort      [place of a column, true for falling], or nothing to keep the rows' order
//   find      what the search field says; nothing for no field
//   choices   { title, of(row), first }: a list to choose one kind of row from, at first that kind;
//             or several such lists
//
// Gives { show(rows) }, to put other rows in.

function table(host, { columns, rows, sort = null, size = 50, find = null, choices = null, empty = "Nothing to show." }) {
  const shown = { rows: rows, sort: sort, page: 0, size: size, text: "" };
  const body = element("tbody");
  const heads = columns.map((column, place) => head(column, place));
  const count = element("span", { className: "soft", role: "status" });
  const back = element("button", { type: "button", onclick: () => turn(-1) }, "‹ Back");
  const next = element("button", { type: "button", onclick: () => turn(1) }, "Next ›");
  const tools = element("div", { className: "tools" });
  if (find) {
    tools.append(element("input", { type: "search", placeholder: find, "aria-label": find,
      oninput: (event) => { shown.text = event.target.value.trim().toLowerCase(); shown.page = 0; draw(); } }));
  }
  const choosers = [choices || []].flat().map((given) => ({ title: given.title, of: given.of, choice: given.first || "" }));
  for (const one of choosers) {
    one.list = element("select", { "aria-label": one.title,
      onchange: (event) => { one.choice = event.target.value; shown.page = 0; draw(); } });
    tools.append(one.list);
  }
  tools.append(count, back, next);
  const scroll = element("div", { className: "scroll", tabindex: 0 },
    element("table", {}, element("thead", {}, element("tr", {}, heads)), body));
  host.replaceChildren(tools, scroll);
  fillChoices();
  draw();
  return { show(others) { shown.rows = others; shown.page = 0; fillChoices(); draw(); } };

  function head(column, place) {
    const arrow = element("span", { className: "arrow", "aria-hidden": "true" });
    const button = element("button", { type: "button", title: column.hint || null, onclick: () => sortBy(place) }, column.title, arrow);
    return element("th", { className: column.kind === "number" ? "number" : null, scope: "col" }, button);
  }

  function sortBy(place) {
    const falls = columns[place].kind === "number";
    shown.sort = shown.sort && shown.sort[0] === place ? [place, !shown.sort[1]] : [place, falls];
    shown.page = 0;
    draw();
  }

  function turn(step) { shown.page += step; draw(); }

  function fillChoices() {
    for (const one of choosers) {
      const counts = new Map();
      for (const row of shown.rows) counts.set(one.of(row), (counts.get(one.of(row)) || 0) + 1);
      one.list.replaceChildren(element("option", { value: "" }, one.title),
        ...[...counts].sort((a, b) => b[1] - a[1]).map(([name, n]) => element("option", { value: name }, short(name, 60) + " (" + number(n) + ")")));
      one.list.value = counts.has(one.choice) ? one.choice : one.choice = "";
    }
  }

  function chosen() {
    let found = shown.rows;
    for (const one of choosers) if (one.choice) found = found.filter((row) => one.of(row) === one.choice);
    if (shown.text) {
      const searched = columns.filter((column) => column.kind !== "number");
      found = found.filter((row) => searched.some((column) => String(column.value(row) ?? "").toLowerCase().includes(shown.text)));
    }
    if (!shown.sort) return found;
    const value = columns[shown.sort[0]].order || columns[shown.sort[0]].value;
    const sign = shown.sort[1] ? -1 : 1;
    return [...found].sort((one, other) => {
      const a = value(one), b = value(other);
      const lacks = (x) => x === null || x === undefined || x === "" || Number.isNaN(x);
      if (lacks(a) || lacks(b)) return lacks(a) - lacks(b);  // what is not known comes last either way
      return sign * (typeof a === "string" ? a.localeCompare(b) : a - b);
    });
  }

  function draw() {
    const found = chosen();
    const last = Math.max(0, Math.ceil(found.length / shown.size) - 1);
    shown.page = Math.min(Math.max(shown.page, 0), last);
    const from = shown.page * shown.size;
    const visibleRows = found.slice(from, from + shown.size);
    body.replaceChildren(...visibleRows.map((row) => element("tr", {}, columns.map((column) => {
      const cell = column.cell ? column.cell(row) : column.value(row);
      return element("td", { className: column.kind === "number" ? "number" : column.wide === true ? "name" : column.wide || null, "data-title": column.title }, cell);
    }))));
    if (!visibleRows.length) body.append(element("tr", {}, element("td", { colspan: columns.length, className: "soft" }, empty)));
    const all = found.length === shown.rows.length ? "" : " (of " + number(shown.rows.length) + ")";
    count.textContent = found.length > shown.size
      ? number(from + 1) + " to " + number(from + visibleRows.length) + " of " + number(found.length) + all
      : plural(found.length, "row") + all;
    back.hidden = next.hidden = found.length <= shown.size;
    back.disabled = shown.page === 0;
    next.disabled = shown.page === last;
    heads.forEach((head, place) => {
      const by = shown.sort && shown.sort[0] === place;
      head.setAttribute("aria-sort", by ? (shown.sort[1] ? "descending" : "ascending") : "none");
      head.querySelector(".arrow").textContent = by ? (shown.sort[1] ? "▾" : "▴") : "";
    });
  }
}
