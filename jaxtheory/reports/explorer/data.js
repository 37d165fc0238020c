"use strict";
// Arrays of the page, and the entries of variables in them. A place is an index along a dimension.

const about = JSON.parse(document.getElementById("about").textContent);
const dims = about.dims, variables = about.variables;
const packed = [...document.querySelectorAll("script.array")];
const SEED = dims.findIndex(dim => dim.role === "seed"), STEP = dims.findIndex(dim => dim.role === "step");

/** Bytes that were compressed with gzip and written in base64. */
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.trim()), sign => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Numbers from bytes that are sorted by significance. */
function numbers(bytes, kind) {
  const width = kind === "f8" ? 8 : 4, n = bytes.length / width, ordered = new Uint8Array(bytes.length);
  for (let b = 0; b < width; b++) for (let i = 0; i < n; i++) ordered[i * width + b] = bytes[b * n + i];
  return kind === "f8" ? new Float64Array(ordered.buffer) : new Float32Array(ordered.buffer);
}

/** Read the arrays of a variable, once. */
async function load(v) {
  if (!v.data) {
    const data = {};
    for (const [part, k] of Object.entries(v.arrays)) data[part] = numbers(await unpacked(packed[k].textContent), v.kind);
    v.data = data;
  }
}

for (const v of variables) {
  v.lengths = v.dims.map((d, k) => (v.at[k] || dims[d].labels).length);
  v.local = v.dims.map((d, k) => {  // place of the dimension -> place in the arrays
    if (!v.at[k]) return null;
    const found = new Int32Array(dims[d].labels.length).fill(-1);
    v.at[k].forEach((place, i) => { found[place] = i; });
    return found;
  });
  const strides = dropped => {
    const found = new Array(v.dims.length).fill(0);
    let stride = 1;
    for (let k = v.dims.length - 1; k >= 0; k--) if (v.dims[k] !== dropped) { found[k] = stride; stride *= v.lengths[k]; }
    return found;
  };
  v.strides = { single: strides(-1), over: strides(SEED) };
}

/** Places of a dimension that a variable has. */
function placesOf(v, d) {
  const k = v.dims.indexOf(d);
  return v.at[k] || dims[d].labels.map((_, i) => i);
}

function lengthOf(v, d) {
  const k = v.dims.indexOf(d);
  return k < 0 ? 1 : v.lengths[k];
}

/** The part of a variable that stands for all seeds: their mean, or the values if there is one seed. */
function wholePart(v) {
  return v.data.mean ? "mean" : "values";
}

/** Entry of a variable at places (dimension -> place); NaN if it is not kept or has no value. */
function entry(v, part, where) {
  if (v.minus) return difference(v, part, where);
  const strides = part === "values" ? v.strides.single : v.strides.over;
  let offset = 0;
  for (let k = 0; k < v.dims.length; k++) {
    const d = v.dims[k];
    if (d === SEED && part !== "values") continue;
    let place = where.get(d) ?? 0;
    if (v.local[k]) place = v.local[k][place];
    if (d === STEP) place = lastStep(v, k, where, place);
    if (place < 0) return NaN;
    offset += strides[k] * place;
  }
  return v.data[part][offset];
}

/** Entry of a run minus its prediction; statistics are over the seeds that are kept one by one. */
function difference(v, part, where) {
  const run = Object.getPrototypeOf(v), at = new Map(where), here = () => entry(run, "values", at) - entry(v.minus, "values", at);
  if (part === "values") return here();
  const found = placesOf(v, SEED).map(seed => { at.set(SEED, seed); return here(); }).filter(Number.isFinite).sort((a, b) => a - b);
  if (part === "n") return found.length;
  if (part === "mean") return found.reduce((a, b) => a + b, 0) / found.length;
  const place = (part === "low" ? 0.05 : 0.95) * (found.length - 1), i = Math.floor(place);
  return found[i] + (place - i) * ((found[i + 1] ?? found[i]) - found[i]);
}

/** At the last step of all, a run with fewer steps is shown at its own last one. */
function lastStep(v, k, where, place) {
  if (place !== v.lengths[k] - 1 || where.get("along") === STEP) return place;
  const own = ownSteps(where);
  if (own === null) return place;
  const places = placesOf(v, STEP);
  while (place > 0 && dims[STEP].labels[places[place]] > own) place--;
  return place;
}

/** Number of training steps at these places if it varies along an axis, otherwise null. */
function ownSteps(where) {
  for (const [d, dim] of dims.entries()) {
    if (!where.has(d)) continue;
    if (dim.name === "steps" && dim.role === "axis") return Number(dim.labels[where.get(d)]);
    const also = dim.also.find(pair => pair[0] === "steps");
    if (also) return Number(also[1][where.get(d)]);
  }
  return null;
}

/** A number as people read it. */
function nice(x, digits = 5) {
  if (typeof x !== "number") return String(x);
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "no value" : String(x);
  if (Number.isInteger(x) && Math.abs(x) < 1e9) return String(x);
  const size = Math.abs(x);
  return size >= 1e6 || size < 1e-4 ? x.toExponential(digits - 2).replace(/\.?0+e/, "e") : String(Number(x.toPrecision(digits)));
}

/** A number with all of its digits. */
function exact(x, kind) {
  if (kind === "f8") return String(x);
  for (let digits = 6; digits < 9; digits++) if (Math.fround(Number(x.toPrecision(digits))) === x) return String(Number(x.toPrecision(digits)));
  return String(Number(x.toPrecision(9)));
}

for (const dim of dims) {  // the fewest digits that tell the values apart
  let digits = 3;
  do dim.texts = dim.labels.map(x => nice(x, digits)); while (new Set(dim.texts).size < dim.labels.length && digits++ < 17);
}

const label = (d, place) => dims[d].texts[place];

function title(d) {
  const { name, symbol } = dims[d];
  return symbol && symbol !== name ? `${name} (${symbol})` : name;
}

/** The variable that is 1 for diverged runs, or undefined if none diverged. */
const diverged = variables.find(v => v.group === "runs" && v.name === "diverged");
const divergedAt = variables.find(v => v.group === "runs" && v.name === "diverged_at");

/** Number of diverged and of finished runs at these places, over all seeds and over all places of `free` dimensions. */
function lost(where, free = []) {
  if (!diverged) return { count: 0, runs: 0 };
  const open = free.filter(d => diverged.dims.includes(d));
  let count = 0, runs = 0;
  const visit = (i, at) => {
    if (i < open.length) {
      for (const place of placesOf(diverged, open[i])) visit(i + 1, new Map(at).set(open[i], place));
      return;
    }
    const share = entry(diverged, wholePart(diverged), at), n = diverged.data.n ? entry(diverged, "n", at) : 1;
    if (share >= 0) { count += Math.round(share * n); runs += n; }
  };
  visit(0, where);
  return { count, runs };
}
