// What all pages share. Texts from outside become text nodes, never markup.

function element(tag, given, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "onclick" || name === "oninput" || name === "onchange") made[name] = value;
    else if (name === "className") made.className = value;
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    made.append(child instanceof Node ? child : visible(String(child)));
  }
  return made;
}

// Signs that would turn, hide or break the text around them are shown by their code.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

function visible(text) {
  return text.replace(UNSEEN, (sign) => "\\u" + sign.codePointAt(0).toString(16).padStart(4, "0"));
}

function short(text, longest = 80) {
  text = visible(String(text));
  return text.length > longest ? text.slice(0, longest - 1) + "…" : text;
}

function named(text, longest = 80) {
  const full = visible(String(text));
  return element("span", { className: "name", title: full.length > longest ? full.slice(0, 500) : null }, short(full, longest));
}

// A link only where it leads to a page or a file beside us; anything else stays text.
function link(address, text, given) {
  return isSafe(address) ? element("a", { href: address, rel: "noreferrer", ...given }, text) : element("span", given, text);
}

function isSafe(address) {
  if (typeof address !== "string" || UNSEEN.test(address)) { UNSEEN.lastIndex = 0; return false; }
  if (/[\t\n\r]/.test(address)) return false;  // a browser would leave them out: java\tscript:
  return /^https?:\/\//i.test(address) || /^(?![a-z][a-z0-9+.-]*:|[\/\\]{2}|\\)/i.test(address.trim());
}

function number(value, digits = 0) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function signed(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  return (value > 0 ? "+" : value < 0 ? "−" : "±") + Math.abs(value).toFixed(digits);
}

function percent(value, digits = 0) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  return number(100 * value, digits) + " %";
}

function plural(count, one, many) {
  return number(count) + " " + (count === 1 ? one : many || one + "s");
}

function byId(id) { return document.getElementById(id); }

function card(label, figure, kind, note) {
  return element("div", { className: "card " + (kind || "") },
    element("div", { className: "figure" }, figure), element("div", { className: "label" }, label),
    note ? element("div", { className: "small soft" }, note) : null);
}

function state(word, kind) { return element("span", { className: "state " + kind }, word); }

const PAGE = JSON.parse(byId("page-data").textContent);

// Parts of the data that are loaded when wanted: a file calls urlrPart(name, content).
const parts = new Map();

window.urlrPart = (name, content) => { parts.set(name, content); };

function script(address) {
  return new Promise((done, failed) => {
    const tag = document.createElement("script");
    tag.charset = "utf-8";
    tag.src = address;
    tag.onload = () => done();
    tag.onerror = () => failed(new Error("cannot load " + address));
    document.head.append(tag);
  });
}

async function part(name) {
  if (!parts.has(name)) await script(PAGE.parts + encodeURIComponent(name) + ".js");
  return parts.get(name);
}

// Bokeh lies in the page, or beside it, and is loaded after the first paint.
let bokeh = null;

function withBokeh() {
  if (bokeh === null) {
    bokeh = window.Bokeh ? Promise.resolve(window.Bokeh) : script(PAGE.library + "bokeh.min.js")
      .then(() => script(PAGE.library + "bokeh-api.min.js")).then(() => window.Bokeh);
  }
  return bokeh;
}

const COLOURS = { blue: "#0072b2", sky: "#56b4e9", green: "#009e73", orange: "#e69f00", red: "#d55e00", purple: "#cc79a7", soft: "#5b6773", line: "#dbe1e7" };
