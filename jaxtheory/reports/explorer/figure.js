// What all pictures have in common: colors, axes and the marks of the legend.

const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const SCALE = [[0.27, 0.0, 0.33], [0.23, 0.32, 0.55], [0.13, 0.57, 0.55], [0.37, 0.79, 0.38], [0.99, 0.91, 0.14]];  // viridis

/** Colors of n curves: a palette for up to seven, a scale for more and for ordered ones, cut where it has no contrast. */
function colorsOf(n, ordered) {
  if (n < 2 || (n <= 7 && !ordered)) return Array.from({ length: n }, (_, k) => style(`--c${k}`));
  const dark = isDark(), from = dark ? 0.3 : 0, to = dark ? 1 : 0.72;
  return Array.from({ length: n }, (_, k) => {
    const place = (from + (to - from) * k / (n - 1)) * (SCALE.length - 1), i = Math.min(Math.floor(place), SCALE.length - 2);
    return `rgb(${SCALE[i].map((c, j) => Math.round(255 * (c + (place - i) * (SCALE[i + 1][j] - c)))).join(",")})`;
  });
}

const isNarrow = () => matchMedia("(max-width: 40rem)").matches;
const isDark = () => state.theme ? state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

function withAlpha(color, alpha) {
  const parts = color.startsWith("#") ? [1, 3, 5].map(k => parseInt(color.slice(k, k + 2), 16)) : color.match(/\d+/g).map(Number);
  return `rgba(${parts.join(",")},${alpha})`;
}

/** Text for plotly, which reads some tags. */
const plain = text => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const shortened = (text, most = 24) => text.length > most ? `${text.slice(0, most - 1)}\u2026` : text;

/** At most `most` of the places, evenly spaced, with the first and the last. */
function some(list, most) {
  if (list.length <= most) return list;
  return Array.from({ length: most }, (_, k) => list[Math.round(k * (list.length - 1) / Math.max(most - 1, 1))]);
}

/** An axis of plotly along a dimension, by place or by value; `beside` is the number of such axes in a row. */
function axisAlong(d, places, { byPlace = true, beside = 1 }, log = false) {
  const axis = axisOf(title(d), log);
  if (dims[d].numeric && !byPlace) return axis;
  const longest = places.reduce((most, place) => Math.max(most, Math.min(label(d, place).length, 14)), 1);
  const room = isNarrow() ? 24 : 72, every = Math.ceil(places.length / Math.min(Math.max(Math.floor(room / longest / beside), 2), 16)), ticks = [];
  for (let i = 0; i < places.length; i += every) ticks.push(i);
  return { ...axis, type: "linear", tickmode: "array", tickvals: ticks, ticktext: ticks.map(i => plain(shortened(label(d, places[i]), 14))) };
}

function axisOf(text, log) {
  return { title: { text: plain(shortened(text, 60)), standoff: 8 }, type: log ? "log" : "linear", color: style("--ink"), gridcolor: style("--grid"), linecolor: style("--line"), zeroline: false, showline: true, automargin: true, exponentformat: "power", ...(log ? { dtick: null, nticks: 8 } : {}) };
}

/** A layout with these axes, all of which have the zoom. */
function layoutOf(axes) {
  const zoomed = ([name, axis]) => [name, state.zoom ? { ...axis, range: name[0] === "x" ? state.zoom.slice(0, 2) : state.zoom.slice(2), autorange: false } : axis];
  return {
    ...Object.fromEntries(Object.entries(axes).map(zoomed)),
    margin: { l: 56, r: 22, t: 12, b: 48 }, paper_bgcolor: style("--paper"), plot_bgcolor: style("--paper"),
    font: { color: style("--ink"), family: "system-ui, sans-serif", size: 13 }, showlegend: false, hovermode: "closest", dragmode: "zoom",
  };
}

/** True if numbers are better spread on a logarithmic axis: positive, and over more than two decades or evenly in ratio. */
function spreadByRatio(values, spaced) {
  const sorted = [...new Set(values.filter(Number.isFinite))].sort((a, b) => a - b);
  if (sorted.length < 2 || sorted[0] <= 0) return false;
  if (!spaced) return sorted.at(-1) > 100 * sorted[0];
  return sorted.length > 2 && uneven(sorted.map(Math.log)) < uneven(sorted) - 1e-6;
}

function uneven(points) {
  const gaps = points.slice(1).map((x, i) => x - points[i]), mean = gaps.reduce((a, b) => a + b) / gaps.length;
  return Math.sqrt(gaps.reduce((a, g) => a + (g - mean) ** 2, 0) / gaps.length) / mean;
}

/** A line of the legend: {text, color, dash, mark}. */
function legendItem({ text, color, dash, mark }) {
  const item = document.createElement("li"), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const add = (tag, values) => { const part = document.createElementNS(svg.namespaceURI, tag); for (const [k, x] of Object.entries(values)) part.setAttribute(k, x); svg.append(part); };
  for (const [k, x] of Object.entries({ width: 28, height: 14, "aria-hidden": "true" })) svg.setAttribute(k, x);
  if (mark === "band") add("rect", { x: 0, y: 1, width: 28, height: 12, fill: withAlpha(color, 0.25) });
  if (mark === "cross") add("path", { d: "M9 2l10 10M19 2l-10 10", stroke: color, "stroke-width": 2.5 });
  else if (mark === "open") add("circle", { cx: 14, cy: 7, r: 4.5, fill: "none", stroke: color, "stroke-width": 2 });
  else if (mark !== "none") add("line", { x1: 0, x2: 28, y1: 7, y2: 7, stroke: color, "stroke-width": 2.5, ...(dash ? { "stroke-dasharray": dash === "dot" ? "2 4" : dash === "dashdot" ? "8 3 2 3" : "7 4" } : {}) });
  item.append(svg, text);
  return item;
}

/** Lines about the dimensions at some places: their labels and those of zipped fields. */
function describePlaces(v, where, skip = []) {
  const lines = [];
  for (const d of v.dims) {
    if (skip.includes(d)) continue;
    const also = dims[d].also.map(([name, texts]) => `, ${name} = ${texts[where.get(d)]}`).join("");
    lines.push(`${dims[d].name} = ${label(d, where.get(d))}${also}`);
  }
  return lines;
}
