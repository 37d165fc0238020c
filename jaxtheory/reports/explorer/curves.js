// Curves of a variable against a dimension: a mean with a band, or a line per seed, and the theory's curves.

const MOST_CURVES = 300, MOST_COLORS = 60, MOST_POINTS = 150000;
const DASHES = ["dash", "dot", "dashdot", "longdash"];

/** Numbers of a variable along dimension x at these places, in the order of its own places. */
function along(v, part, where, x, places) {
  const at = new Map(where).set("along", x), found = new Float64Array(places.length);
  for (let i = 0; i < places.length; i++) found[i] = entry(v, part, at.set(x, places[i]));
  return found;
}

function curves() {
  const v = shown(), x = state.x, notes = [], legend = [], traces = [], lines = [], hits = [];
  const several = v.seeds > 1, mode = several ? state.seeds : "one", fixed = fixedPlaces(v);
  const groups = state.color < 0 ? [-1] : some(placesOf(v, state.color), MOST_COLORS), colors = colorsOf(groups.length, state.color >= 0 && dims[state.color].role === "axis" && dims[state.color].numeric);
  if (state.color >= 0 && groups.length < lengthOf(v, state.color)) notes.push(`${groups.length} of ${lengthOf(v, state.color)} values of ${dims[state.color].name} are drawn.`);
  const seeds = mode === "each" ? some(placesOf(v, SEED), Math.max(Math.floor(MOST_CURVES / groups.length), 1)) : [mode === "one" && several ? placeIn(v, SEED) : -1];
  if (mode === "each" && seeds.length < v.seeds) notes.push(`${seeds.length} of ${v.seeds} seeds are drawn.`);
  const all = x < 0 ? [0] : placesOf(v, x), places = some(all, Math.max(Math.floor(MOST_POINTS / (groups.length * seeds.length)), 2));
  if (places.length < all.length) notes.push(`${places.length} of ${all.length} values of ${dims[x].name} are drawn.`);
  const numeric = x >= 0 && dims[x].numeric;
  const order = new Map(all.map((place, i) => [place, i])), position = place => numeric ? dims[x].labels[place] : order.get(place);
  const predictions = state.theory ? predictionsOf(v) : [];

  groups.forEach((group, g) => {
    const where = state.color < 0 ? fixed : new Map(fixed).set(state.color, group);
    for (const seed of seeds) {
      const here = seed < 0 ? where : new Map(where).set(SEED, seed);
      const part = mode === "mean" ? wholePart(v) : "values";
      const line = { g, group, seed, where: here, part, y: along(v, part, here, x, places) };
      if (part === "mean") for (const name of ["low", "high", "n"]) line[name] = along(v, name, here, x, places);
      line.theory = predictions.map(p => theoryLine(p, here, x, mode));
      lines.push(line);
    }
  });

  const positions = places.map(position);
  const finite = lines.flatMap(line => [...line.y].filter(Number.isFinite));
  const logx = numeric && (state.logx ?? spreadByRatio(positions, true)), logy = state.logy ?? (!v.minus && spreadByRatio(finite, false));
  const least = logy ? finite.reduce((a, b) => b > 0 ? Math.min(a, b) : a, Infinity) : -Infinity;  // where a band ends that reaches 0
  const dropped = (logy ? finite.filter(y => y <= 0).length : 0), left = logx ? positions.filter(p => p <= 0).length : 0;
  if (dropped) notes.push(`Not positive, so missing on the logarithmic vertical axis: ${dropped} of ${finite.length} values.`);
  if (left) notes.push(`Not positive, so missing on the logarithmic horizontal axis: ${left} of ${positions.length} values of ${dims[x].name}.`);
  const beyond = logx ? positions.map(p => p <= 0) : [];  // which do not count for the range of the vertical axis
  const marked = places.length <= 30 || lines.some(line => isolated(line.y));

  groups.forEach((group, g) => {
    const own = lines.filter(line => line.g === g), color = colors[g], thin = mode === "each" && own.length > 1;
    if (mode === "mean" && several) traces.push(bandTrace(own[0], positions, color, least, beyond));
    const trace = { type: "scatter", mode: marked ? "lines+markers" : "lines", x: [], y: [], hoverinfo: "none", connectgaps: false, line: { color, width: thin ? 1.2 : 2.2 }, opacity: thin && own.length > 12 ? 0.6 : 1, marker: { color, size: thin ? 4 : 6 }, name: nameOf(group) };
    for (const line of own) {
      for (let i = 0; i < places.length; i++) { trace.x.push(positions[i]); trace.y.push(beyond[i] ? null : line.y[i]); }
      trace.x.push(null); trace.y.push(null);
    }
    if (marked && own[0].n) {
      trace.marker.symbol = [...own[0].n].map(n => n < v.seeds ? "circle-open" : "circle");
      if (own[0].n.some((n, i) => n < v.seeds && n > 0)) trace.openMarks = true;
    }
    hits[traces.length] = point => [lines.indexOf(own[Math.floor(point / (places.length + 1))]), point % (places.length + 1)];
    traces.push(trace);
    if (mode !== "mean") traces.push(crossTrace(own, positions, color));
    own.slice(0, mode === "one" ? undefined : 1).forEach(line => line.theory.forEach((curve, k) => {
      const at = curve.places.map(position);
      traces.push({ type: "scatter", mode: curve.places.length > 1 ? "lines" : "markers", x: at, y: [...curve.y].map((y, i) => logx && at[i] <= 0 ? null : y), hoverinfo: "none", line: { color, width: 2, dash: DASHES[k % DASHES.length] }, marker: { color, symbol: "line-ew-open", size: 16, line: { width: 2, color } }, name: curve.title, showlegend: g === 0 });
    }));
    const { count, runs } = lost(own[0].where, [x]);
    legend.push({ text: nameOf(group) + (count ? ` (${count} of ${runs} runs diverged)` : ""), color });
  });
  if (groups.length > 12) legend.splice(0, legend.length, ...some(legend, 12));
  const ink = style("--ink");
  if (mode === "mean" && several) legend.push({ text: "band: 5 to 95 % of the seeds", color: ink, mark: "band" });
  if (traces.some(trace => trace.openMarks)) legend.push({ text: "some seeds have no value here", color: ink, mark: "open" });
  if (traces.some(trace => trace.crosses)) legend.push({ text: "last value of a run that diverged", color: ink, mark: "cross" });
  if (lines[0]) lines[0].theory.forEach((curve, k) => legend.push({ text: curve.title, color: ink, dash: DASHES[k % DASHES.length] }));
  if (!finite.length) notes.push("There is no value here yet, or all are NaN.");

  const xaxis = x < 0 ? axisOf("", false) : axisAlong(x, all, { byPlace: !numeric }, logx);
  const yaxis = { ...axisOf(v.name, logy), ...(v.minus ? { zeroline: true, zerolinecolor: style("--ink"), rangemode: "tozero" } : {}) };
  return {
    traces, legend, notes, lines, places, x, logx, logy, predictions,
    layout: layoutOf({ xaxis, yaxis }),
    hit: (curve, point) => hits[curve]?.(point),
    size: [lines.length, places.length],
    at: (i, j) => pointOf(v, lines[i], places, j, positions[j]),
    summary: `${v.name}${x < 0 ? "" : ` against ${dims[x].name}`}${state.color < 0 ? "" : `, colored by ${dims[state.color].name}`}, ${lines.length} ${lines.length === 1 ? "curve" : "curves"}`,
  };
}

const nameOf = group => group < 0 ? shown().name : `${dims[state.color].name} = ${label(state.color, group)}`;

/** A curve of the theory; over several seeds it is their mean. */
function theoryLine(p, where, x, mode) {
  const places = p.dims.includes(x) ? placesOf(p, x) : placesOf(shown(), x), part = mode === "one" ? "values" : wholePart(p);
  const text = `${theoryTitle(p)}${part === "mean" ? " (mean over the seeds)" : ""}`;
  const own = p.dims.includes(SEED) && part === "values" && !placesOf(p, SEED).includes(where.get(SEED)) ? new Map(where).set(SEED, placesOf(p, SEED)[0]) : where;
  return { places, y: along(p, part, own, x, places), title: text };
}

/** True if some value has no neighbor, so that a line would not show it. */
function isolated(y) {
  return y.some((value, i) => Number.isFinite(value) && !Number.isFinite(y[i - 1]) && !Number.isFinite(y[i + 1]));
}

/** The band between two quantiles, a polygon for each stretch without a gap. */
function bandTrace(line, positions, color, least, beyond) {
  const x = [], y = [];
  let stretch = [];
  const close = () => {
    for (const i of stretch) { x.push(positions[i]); y.push(line.high[i]); }
    for (const i of stretch.reverse()) { x.push(positions[i]); y.push(line.low[i] > 0 ? line.low[i] : Math.max(line.low[i], least)); }
    if (stretch.length) { x.push(null); y.push(null); }
    stretch = [];
  };
  positions.forEach((_, i) => !beyond[i] && Number.isFinite(line.low[i]) && line.high[i] > (least > 0 ? 0 : -Infinity) ? stretch.push(i) : close());
  close();
  return { type: "scatter", mode: "lines", x, y, fill: "toself", fillcolor: withAlpha(color, 0.2), line: { width: 0 }, hoverinfo: "skip", showlegend: false, name: "5 to 95 %" };
}

/** A cross at the last value of each run that diverged. */
function crossTrace(lines, positions, color) {
  const x = [], y = [];
  for (const line of lines) {
    if (!diverged || !(entry(diverged, "values", line.where) > 0)) continue;
    const last = line.y.findLastIndex(Number.isFinite);
    if (last >= 0) { x.push(positions[last]); y.push(line.y[last]); }
  }
  return { type: "scatter", mode: "markers", x, y, marker: { color, symbol: "x", size: 10 }, hoverinfo: "skip", showlegend: false, crosses: x.length > 0, name: "diverged" };
}

/** What is said about a point: {x, y, lines of text}, or null if it has no value. */
function pointOf(v, line, places, j, position) {
  const y = line?.y[j];
  if (!Number.isFinite(y)) return null;
  const where = new Map(line.where).set(state.x, places[j]), texts = [];
  if (line.n) {
    texts.push(`${v.name}: mean ${nice(y)}`, `5 to 95 %: ${nice(line.low[j])} to ${nice(line.high[j])}`, `over ${line.n[j]} of ${v.seeds} seeds`);
  } else texts.push(`${v.name} = ${nice(y)}`);
  line.theory.forEach(curve => {
    const k = curve.places.indexOf(places[j]);
    if (k >= 0 && Number.isFinite(curve.y[k])) texts.push(`${curve.title}: ${nice(curve.y[k])}`);
  });
  texts.push(...describePlaces(v, where, line.n ? [SEED] : []));
  return { x: position, y, texts: [...texts, ...fate(where, !line.n)] };
}

/** What is said about divergence at these places, of one run or of all seeds. */
function fate(where, single) {
  if (!diverged) return [];
  if (single) return entry(diverged, "values", where) > 0 ? [`this run diverged at step ${nice(entry(divergedAt, "values", where))}`] : [];
  const { count, runs } = lost(where);
  return count ? [`${count} of ${runs} runs diverged`] : [];
}
