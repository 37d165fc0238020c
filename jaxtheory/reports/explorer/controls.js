// The controls: built when what can be chosen changes, otherwise only set.

const $ = id => document.getElementById(id);

function make(tag, values = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(values)) {
    if (name === "text") element.textContent = value;
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...inside);
  return element;
}

/** A select with its label; entries are pairs of value and text. */
function selectFor(id, text, entries, value, change) {
  const select = make("select", { id });
  for (const [key, name] of entries) select.append(make("option", { value: String(key), text: name }));
  select.value = String(value);
  select.addEventListener("change", () => change(select.value));
  return [make("label", { for: id, text }), select];
}

/** Radio buttons in a field set. */
function radiosFor(name, text, entries, value, change) {
  const set = make("fieldset", { id: name }, make("legend", { text }));
  for (const [key, words] of entries) {
    const radio = make("input", { type: "radio", name, value: key, id: `${name}-${key}` });
    radio.checked = key === value;
    radio.addEventListener("change", () => change(key));
    set.append(make("label", { class: "tick" }, radio, words));
  }
  return set;
}

function tickFor(id, text, value, change) {
  const box = make("input", { type: "checkbox", id });
  box.checked = value;
  box.addEventListener("change", () => change(box.checked));
  return make("label", { class: "tick" }, box, text);
}

/** A slider along a dimension, or a select for a few texts. */
function placeFor(v, d) {
  const places = placesOf(v, d), id = `at-${d}`, change = k => { state.at.set(d, places[k]); redraw(); };
  const now = places.indexOf(placeIn(v, d));
  if (!dims[d].numeric && places.length <= 60) return selectFor(id, title(d), places.map((place, k) => [k, label(d, place)]), now, k => change(Number(k)));
  const shownValue = make("output", { for: id }), slider = make("input", { type: "range", id, min: "0", max: String(places.length - 1), step: "1" });
  slider.say = () => {
    const k = Number(slider.value), last = d === STEP && k === places.length - 1 ? " (the last)" : "";
    shownValue.textContent = label(d, places[k]) + last;
    slider.setAttribute("aria-valuetext", label(d, places[k]) + last);
  };
  slider.value = String(now);
  slider.addEventListener("input", () => { slider.say(); change(Number(slider.value)); });
  slider.say();
  const played = d === STEP && state.view === "map" ? [buttonFor("play", "Play", play)] : [];
  return [make("label", { for: id }, `${title(d)} = `, shownValue), slider, ...played];
}

function buttonFor(id, text, act) {
  const button = make("button", { type: "button", id, text });
  button.addEventListener("click", act);
  return button;
}

const GROUPS = ["along training", "along training, with further dimensions", "of the final parameters", "of the final parameters, with further dimensions", "weights", "predictions", "runs"];

function buildMetrics() {
  const select = $("metric");
  for (const group of GROUPS) {
    const members = variables.map((v, k) => [v, k]).filter(([v]) => v.group === group);
    if (!members.length) continue;
    const options = make("optgroup", { label: group });
    for (const [v, k] of members) options.append(make("option", { value: String(k), text: v.name }));
    select.append(options);
  }
  select.addEventListener("change", () => { choose(Number(select.value)); redraw(); });
}

let structure = "";

/** Build the controls of the picture if what can be chosen has changed. */
function buildControls() {
  const v = shown(), now = JSON.stringify([state.metric, state.view, state.x, state.color, state.rows, state.columns, state.panels, state.minus, state.seeds, isCell()]);
  $("metric").value = String(state.metric);
  $("meaning").textContent = v.meaning === v.name ? "" : v.meaning;
  setValues(v);
  if (now === structure) return;
  structure = now;
  halt();
  const focused = document.activeElement?.id, several = severals(v), named = list => list.map(d => [d, title(d)]);
  const pick = name => value => { state[name] = Number(value); state.zoom = null; if (name === "x") state.logx = null; settle(); redraw(); };
  const swap = (name, other) => value => { if (state[other] === Number(value)) state[other] = state[name]; pick(name)(value); };
  $("views").replaceWith(several.length > 1 ? radiosFor("views", "show as", [["curves", "curves"], ["map", "heat map"]], state.view, view => { state.view = view; state.zoom = null; settle(); redraw(); }) : make("span", { id: "views" }));
  const parts = isCell() ? [[buttonFor("back", "Back to the heat map", () => history.back())]] : [];
  if (state.view === "map") {
    parts.push(selectFor("columns", "horizontal", named(several), state.columns, swap("columns", "rows")), selectFor("rows", "vertical", named(several), state.rows, swap("rows", "columns")));
    const others = several.filter(d => d !== state.rows && d !== state.columns);
    if (others.length) parts.push(selectFor("panels", "side by side", [[-1, "nothing"], ...named(others)], state.panels, pick("panels")));
  } else {
    if (several.length) parts.push(selectFor("x", "horizontal axis", named(several), state.x, pick("x")));
    const others = several.filter(d => d !== state.x);
    if (others.length) parts.push(selectFor("color", "color by", [[-1, "nothing"], ...named(others)], state.color, pick("color")));
  }
  if (v.seeds > 1) {
    const words = state.view === "map" ? [["mean", "mean"], ["one", "one seed"]] : [["mean", "mean and band"], ["each", "each seed"], ["one", "one seed"]];
    parts.push([radiosFor("seeds", `${v.seeds} seeds`, words, state.seeds, seeds => { state.seeds = seeds; redraw(); })]);
  }
  const used = usedDims();
  for (const d of v.dims) {
    const free = d === SEED ? v.seeds > 1 && state.seeds === "one" : !used.includes(d);
    if (free && lengthOf(v, d) > 1) parts.push(placeFor(v, d));
  }
  const ticks = make("fieldset", {}, make("legend", { text: "scales" }));
  if (state.view === "curves" && state.x >= 0 && dims[state.x].numeric) ticks.append(tickFor("logx", "logarithmic horizontal", false, on => { state.logx = on; state.zoom = null; redraw(); }));
  ticks.append(tickFor("logy", state.view === "map" ? "logarithmic colors" : "logarithmic vertical", false, on => { state.logy = on; state.zoom = null; redraw(); }));
  parts.push([ticks]);
  if (state.view === "curves" && predictionsOf(v).length) parts.push([tickFor("theory", "curves of the theory, dashed", state.theory, on => { state.theory = on; redraw(); })]);
  predictionsOf(variables[state.metric]).forEach((p, k) => parts.push([tickFor(`minus-${k}`, `run minus ${theoryTitle(p)}`, variables[state.minus] === p, on => { Object.assign(state, { minus: on ? variables.indexOf(p) : -1, zoom: null, logy: null }); settle(); redraw(); })]));
  $("adjust").replaceChildren(...parts.flat());
  if (focused && focused !== document.activeElement?.id) $(focused)?.focus({ preventScroll: true });
}

/** Set the controls that are there to what is shown, after a link was followed. */
function setValues(v) {
  for (const d of v.dims) {
    const control = $(`at-${d}`);
    if (!control) continue;
    control.value = String(placesOf(v, d).indexOf(placeIn(v, d)));
    control.say?.();
  }
  if ($("play")) $("play").textContent = player ? "Pause" : "Play";
  if ($("theory")) $("theory").checked = state.theory;
}

/** Show which scales are used. */
function setScales() {
  if ($("logx")) $("logx").checked = drawn.logx;
  if ($("logy")) $("logy").checked = drawn.logy;
}
