// What is shown, as one record, and that record as the fragment of a link.

/** variable, view ("curves" or "map"), dimensions (-1 for none), seeds ("mean", "each" or "one"), places by dimension, the prediction that is taken off (-1 for none), and switches. */
const state = { metric: 0, view: "curves", x: -1, color: -1, rows: -1, columns: -1, panels: null, minus: -1, seeds: "mean", at: new Map(), logx: null, logy: null, theory: true, theme: "", zoom: null };
const PICKED = ["x", "color", "rows", "columns", "panels"];
const MOST_PANELS = 12;

/** The variable that is shown, or its difference to a prediction, which inherits from it. */
function shown() {
  const v = variables[state.metric], minus = variables[state.minus];
  return minus ? Object.assign(Object.create(v), { name: `${v.name} minus ${theoryTitle(minus)}`, minus, seeds: lengthOf(v, SEED) }) : v;
}

const theoryTitle = p => `theory${p.label ? `: ${p.label}` : ""}`;
const severals = v => v.dims.filter(d => d !== SEED && lengthOf(v, d) > 1);
const predictionsOf = v => variables.filter(p => p.of === v.name);
const usedDims = () => state.view === "map" ? [state.columns, state.rows, state.panels] : [state.x, state.color];

/** True if both sides of a map are of the variable itself, such as rows and columns of a matrix. */
const isMatrix = () => [state.rows, state.columns].every(d => dims[d].role === "further");

/** Show another variable: choices that it does not have are replaced. */
function choose(k) {
  Object.assign(state, { metric: k, minus: -1, panels: null });
  const v = shown(), several = severals(v), further = v.dims.filter(d => dims[d].role === "further");
  if (several.length < 2) state.view = "curves";
  else if (v.group === "weights" || further.length > 1) {
    state.view = "map";
    if (!further.includes(state.rows) || !further.includes(state.columns)) state.rows = state.columns = -1;
  }
  else if (!several.includes(state.rows) || !several.includes(state.columns)) state.view = "curves";
  if (v.group === "weights") state.seeds = "one";  // a mean of weights says little
  state.zoom = state.logx = state.logy = null;
  settle();
}

/** Make the record valid for its variable. */
function settle() {
  const v = shown(), several = severals(v), further = several.filter(d => dims[d].role === "further");
  const axes = several.filter(d => dims[d].role === "axis"), has = d => several.includes(d);
  if (!has(state.x)) state.x = has(STEP) ? STEP : [...further, ...axes].sort((a, b) => rank(v, b) - rank(v, a))[0] ?? v.dims.find(d => d !== SEED) ?? -1;
  if (state.color === null || (state.color >= 0 && !has(state.color)) || state.color === state.x) state.color = several.find(d => d !== state.x && d !== STEP && lengthOf(v, d) <= 60) ?? -1;
  if (!has(state.rows) || !has(state.columns) || state.rows === state.columns) {
    const [rows, columns] = further.length > 1 ? further.slice(-2) : further.length ? [further[0], has(STEP) ? STEP : axes[0]] : [axes[1] ?? several[1], axes[0] ?? several[0]];
    state.rows = rows ?? -1;
    state.columns = columns ?? -1;
    if (state.rows === state.columns) state.rows = several.find(d => d !== state.columns) ?? -1;
  }
  const others = several.filter(d => d !== state.rows && d !== state.columns);
  if (state.panels === null || (state.panels >= 0 && !others.includes(state.panels))) {
    state.panels = others.findLast(d => dims[d].role === "further") ?? others.find(d => d !== STEP && lengthOf(v, d) <= MOST_PANELS) ?? -1;
  }
  if (several.length < 2) state.view = "curves";
  if (v.seeds < 2 || (state.seeds === "each" && state.view === "map")) state.seeds = "mean";
  for (const d of v.dims) if (!state.at.has(d)) state.at.set(d, d === STEP ? dims[d].labels.length - 1 : 0);
}

/** The chosen place of a dimension, or the nearest one that the variable has. */
function placeIn(v, d) {
  const places = placesOf(v, d), wanted = state.at.get(d);
  return places.reduce((a, b) => Math.abs(b - wanted) < Math.abs(a - wanted) ? b : a);
}

/** Preference of a dimension as the horizontal axis: numbers first, then length. */
const rank = (v, d) => (dims[d].numeric ? 1000 : 0) + Math.min(lengthOf(v, d), 999);

/** Places at which the picture is taken, without the dimensions that it spans. */
function fixedPlaces(v) {
  return new Map(v.dims.map(d => [d, placeIn(v, d)]));
}

/** Phrases such as "K = 6" for the dimensions that the picture does not span. */
function fixedPhrases(v) {
  const spanned = usedDims();
  return v.dims.filter(d => !spanned.includes(d) && (d !== SEED || (v.seeds > 1 && state.seeds === "one"))).map(d => `${dims[d].name} = ${label(d, placeIn(v, d))}`);
}

/** The record as a fragment; labels stand for places, so that a link survives more values. */
function fragment() {
  const words = new URLSearchParams({ variable: variables[state.metric].name, view: state.view, seeds: state.seeds });
  for (const name of PICKED) words.set(name, state[name] < 0 ? "" : dims[state[name]].name);
  for (const name of ["logx", "logy"]) if (state[name] !== null) words.set(name, state[name] ? "1" : "0");
  if (state.minus >= 0) words.set("minus", variables[state.minus].name);
  if (!state.theory) words.set("theory", "0");
  if (state.theme) words.set("theme", state.theme);
  if (state.zoom) words.set("zoom", state.zoom.map(x => String(Number(x.toPrecision(6)))).join(","));
  const spanned = usedDims();
  for (const d of shown().dims) {
    const place = placeIn(shown(), d);
    if (spanned.includes(d) || lengthOf(shown(), d) < 2 || (d === SEED && state.seeds !== "one")) continue;
    if (d === STEP && place === dims[d].labels.length - 1) continue;  // the last one, also of a longer sweep
    words.set(`at.${dims[d].name}`, String(dims[d].labels[place]));
  }
  return words.toString();
}

/** Restore the record from a fragment; what it does not know is left out. Without a variable, run and theory differ most. */
function restore(text) {
  const words = new URLSearchParams(text), metric = variables.findIndex(v => v.name === words.get("variable")), { variable, at } = about.opening;
  state.at = new Map(metric < 0 ? Object.entries(at).map(([name, place]) => [dims.findIndex(dim => dim.name === name), place]) : []);
  for (const name of PICKED) state[name] = name === "color" ? null : -1;
  choose(metric < 0 ? variable : metric);
  state.minus = variables.findIndex(p => p.name === words.get("minus") && p.of === shown().name);
  for (const name of PICKED) if (words.has(name)) state[name] = dims.findIndex(dim => dim.name === words.get(name));
  if (["curves", "map"].includes(words.get("view"))) state.view = words.get("view");
  if (["mean", "each", "one"].includes(words.get("seeds"))) state.seeds = words.get("seeds");
  for (const name of ["logx", "logy"]) state[name] = words.has(name) ? words.get(name) === "1" : null;
  state.theory = words.get("theory") !== "0";
  state.theme = ["light", "dark"].includes(words.get("theme")) ? words.get("theme") : "";
  const zoom = (words.get("zoom") ?? "").split(",").map(Number);
  state.zoom = zoom.length === 4 && zoom.every(Number.isFinite) ? zoom : null;
  for (const [d, dim] of dims.entries()) {
    const place = dim.labels.findIndex(x => String(x) === words.get(`at.${dim.name}`));
    if (place >= 0) state.at.set(d, place);
  }
  settle();
}
