// Plots, drawn by Bokeh after the first paint. Names from outside reach it only as the factors of an
// axis, which it draws as plain text: titles and labels of an axis would be read as formulas, for
// which it loads a library from elsewhere. Tooltips are nodes of our own.

const drawings = [];

// A place for a plot; `words` say what it shows to those who cannot see it.
function plot(words, draw) {
  const host = element("div", { className: "plot fits", role: "img", "aria-label": words });
  drawings.push([host, draw]);
  return host;
}

async function drawPlots() {
  try {
    await withBokeh();
  } catch (error) {
    for (const [host] of drawings) host.replaceChildren(element("p", { className: "soft" }, "No plot: Bokeh's files are not beside this page."));
    return;
  }
  for (const [host, draw] of drawings) {
    await draw(host);
    await new Promise((done) => setTimeout(done));  // the page stays usable meanwhile
  }
  document.body.dataset.drawn = "true";
}

function figure({ height, x, y, factors = null, wide = null, ...given }) {
  const made = window.Bokeh.Plotting.figure({
    height, sizing_mode: "stretch_width", tools: [], toolbar_location: null, min_border: 4, min_border_right: 14,
    outline_line_color: null, x_axis_label: x || null, y_axis_label: y || null, ...(factors ? { y_range: new window.Bokeh.FactorRange({ factors }) } : {}), ...given,
  });
  for (const axis of [made.xaxis, made.yaxis]) {
    axis.axis_label_text_font_style = "normal";
    axis.axis_label_text_color = COLOURS.soft;
    axis.axis_label_text_font_size = "13px";
    axis.major_label_text_font_size = "12px";
    axis.axis_line_color = COLOURS.line;
    axis.major_tick_line_color = COLOURS.line;
    axis.minor_tick_line_color = null;
  }
  made.xgrid.grid_line_color = factors || wide ? COLOURS.line : null;
  made.ygrid.grid_line_color = COLOURS.line;
  return made;
}

function source(columns) { return new window.Bokeh.ColumnDataSource({ data: columns }); }

function field(name) { return { field: name }; }

// What the pointer shows: `words(place)` gives lines for the row of the source.
function hover(made, renderers, words) {
  made.add_tools(new window.Bokeh.HoverTool({ renderers, tooltips: (data, given) => {
    const lines = words(given.index ?? 0).filter((line) => line);
    return element("div", { style: "padding: 2px 4px; max-width: 320px; overflow-wrap: anywhere" }, lines.map((line) => element("div", {}, line)));
  } }));
}

async function showPlot(made, host) {
  host.replaceChildren();
  await window.Bokeh.Plotting.show(made, host);
}

// Null and missing become NaN, which Bokeh leaves out.
function numbers(values, scale = 1) { return values.map((value) => (value === null || value === undefined ? NaN : scale * value)); }

function legend(...entries) {
  return element("p", { className: "legend small soft" }, entries.map(([sign, colour, words]) =>
    element("span", {}, element("span", { style: "color:" + colour, "aria-hidden": "true" }, sign), " " + words)));
}

// A name where Bokeh draws it: short, and its place before it, which keeps twins apart.
function factor(place, name, longest = 22) { return place + "  " + short(name, longest); }

function bars(words, { height = 200, labels, counts, x, y, unit }) {
  return plot(words, (host) => {
    const made = figure({ height, x, y, x_range: new window.Bokeh.FactorRange({ factors: labels }) });
    const drawn = made.vbar({ x: field("x"), top: field("top"), width: 0.86, source: source({ x: labels, top: counts }), fill_color: COLOURS.sky, line_color: COLOURS.blue });
    made.y_range.start = 0;
    if (labels.length > 7) made.xaxis.major_label_orientation = 0.9;
    hover(made, [drawn], (k) => [labels[k], plural(counts[k], unit)]);
    return showPlot(made, host);
  });
}
