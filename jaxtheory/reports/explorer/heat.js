// Heat map of a variable over two dimensions, such as a phase diagram or a matrix of weights.

const DIVERGING = [[0, "#2166ac"], [0.25, "#92c5de"], [0.5, "#f7f7f7"], [0.75, "#f4a582"], [1, "#b2182b"]];

function heat() {
  const v = shown(), { rows, columns } = state, notes = [], fixed = fixedPlaces(v), one = v.seeds < 2 || state.seeds === "one";
  const part = one ? "values" : wholePart(v), down = placesOf(v, rows), across = placesOf(v, columns);
  const places = (i, j) => new Map(fixed).set(rows, down[i]).set(columns, across[j]);
  const at = new Map(fixed), values = down.map(r => { at.set(rows, r); return Float64Array.from(across, c => entry(v, part, at.set(columns, c))); });
  let least = Infinity, most = -Infinity, positive = Infinity, empty = 0;
  for (const row of values) for (const z of row) {
    if (!Number.isFinite(z)) { empty++; continue; }
    least = Math.min(least, z); most = Math.max(most, z);
    if (z > 0) positive = Math.min(positive, z);
  }
  const log = (state.logy ?? (least > 0 && most > 100 * least)) && positive < Infinity, both = !log && least < 0 && most > 0;
  const z = log ? values.map(row => row.map(x => x > 0 ? Math.log10(x) : NaN)) : values;
  if (log && least <= 0) notes.push("Values that are not positive have no color on the logarithmic scale.");
  if (empty) notes.push(`${empty} of ${down.length * across.length} cells are empty: they have no value.`);
  const matrix = [rows, columns].every(d => dims[d].role === "further"), ratio = across.length / down.length;
  const trace = {
    type: "heatmap", z, hoverinfo: "none", hoverongaps: false, colorscale: both ? DIVERGING : "Cividis",
    ...(both ? { zmin: -Math.max(-least, most), zmax: Math.max(-least, most) } : {}),
    colorbar: { thickness: 14, outlinewidth: 0, tickfont: { color: style("--ink") }, exponentformat: "power", ...(log ? logTicks(Math.log10(positive), Math.log10(most)) : {}) },
  };
  const xaxis = { ...axisAlong(columns, across, { byPlace: true }, false), showgrid: false, range: [-0.5, across.length - 0.5], ...(matrix ? { constrain: "domain" } : {}) };
  const yaxis = { ...axisAlong(rows, down, { byPlace: true }, false), showgrid: false, range: matrix ? [down.length - 0.5, -0.5] : [-0.5, down.length - 0.5] };
  if (matrix && ratio < 8 && ratio > 1 / 8) Object.assign(yaxis, { scaleanchor: "x", constrain: "domain" });
  const traces = [trace], crosses = crossCells(down, across, fixed, one);
  if (crosses.x.length) traces.push(crosses);
  return {
    traces, notes, values, down, across, logx: false, logy: log, part,
    legend: crosses.x.length ? [{ text: "cell with runs that diverged", color: style("--ink"), mark: "cross" }] : [],
    layout: { ...layoutOf(xaxis, yaxis), plot_bgcolor: style("--panel") },
    hit: (curve, point) => curve === 0 ? point : undefined,
    size: [down.length, across.length],
    at: (i, j) => {
      const y = values[i]?.[j];
      if (!Number.isFinite(y)) return null;
      const where = places(i, j), n = one ? NaN : entry(v, "n", where);
      const head = one ? [`${v.name} = ${nice(y)}`] : [`${v.name}: mean ${nice(y)}`, `over ${n} of ${v.seeds} seeds`];
      return { x: j, y: i, texts: [...head, ...describePlaces(v, where, one ? [] : [SEED]), ...fate(where, one)] };
    },
    up: matrix ? -1 : 1,
    summary: `heat map of ${v.name}${one ? "" : ", mean over the seeds"}, with ${dims[rows].name} against ${dims[columns].name}`,
  };
}

/** Ticks of a color bar whose values are logarithms. */
function logTicks(from, to) {
  const whole = [];
  for (let k = Math.ceil(from); k <= to; k += Math.max(Math.ceil((to - from) / 6), 1)) whole.push(k);
  const ticks = whole.length > 1 ? whole : [from, to];
  return { tickmode: "array", tickvals: ticks, ticktext: ticks.map(k => nice(Number((10 ** k).toPrecision(3)))) };
}

/** A cross in each cell in which a run diverged, if the cells are of axes. */
function crossCells(down, across, fixed, one) {
  const x = [], y = [];
  if (diverged && [state.rows, state.columns].some(d => diverged.dims.includes(d)) && down.length * across.length <= 10000) {
    down.forEach((r, i) => across.forEach((c, j) => {
      const where = new Map(fixed).set(state.rows, r).set(state.columns, c);
      if (one ? entry(diverged, "values", where) > 0 : lost(where).count) { x.push(j); y.push(i); }
    }));
  }
  return { type: "scatter", mode: "markers", x, y, marker: { symbol: "x", size: down.length * across.length > 400 ? 5 : 9, color: style("--paper"), line: { color: style("--ink"), width: 1.5 } }, hoverinfo: "skip", showlegend: false };
}
