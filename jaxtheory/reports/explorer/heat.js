// Heat map of a variable over two dimensions, such as a phase diagram or a matrix of weights.

const DIVERGING = [[0, "#2166ac"], [0.25, "#92c5de"], [0.5, "#f7f7f7"], [0.75, "#f4a582"], [1, "#b2182b"]];

let measured = { key: "" };

/** Shapes of maps at these places, up to the last row and column with a value at one of the steps, and the range of all values. */
function measure(v, part, wheres, steps) {
  const { rows, columns } = state, sides = [rows, columns].map(d => placesOf(v, d));
  const key = JSON.stringify([v.name, part, rows, columns, steps, wheres.map(where => [...where].filter(pair => pair[0] !== STEP || steps.length < 2))]);
  if (key === measured.key) return measured;
  const found = { key, shapes: [], least: Infinity, most: -Infinity, positive: Infinity };
  for (const where of wheres) {
    const shape = [0, 0], at = new Map(where);
    for (const step of steps) {
      at.set(STEP, step);
      sides[0].forEach((r, i) => sides[1].forEach((c, j) => {
        const z = entry(v, part, at.set(rows, r).set(columns, c));
        if (!Number.isFinite(z)) return;
        shape[0] = Math.max(shape[0], i + 1); shape[1] = Math.max(shape[1], j + 1);
        found.least = Math.min(found.least, z); found.most = Math.max(found.most, z);
        if (z > 0) found.positive = Math.min(found.positive, z);
      }));
    }
    found.shapes.push([rows, columns].map((d, k) => dims[d].role === "further" && shape[k] || sides[k].length));
  }
  return measured = found;
}

function heat() {
  const v = shown(), { rows, columns, panels } = state, notes = [], fixed = fixedPlaces(v), one = v.seeds < 2 || state.seeds === "one";
  const part = one ? "values" : wholePart(v), matrix = isMatrix(), narrow = isNarrow();
  const chosen = panels < 0 ? [] : some(placesOf(v, panels), MOST_PANELS), wheres = panels < 0 ? [fixed] : chosen.map(place => new Map(fixed).set(panels, place));
  if (chosen.length < lengthOf(v, panels) && panels >= 0) notes.push(`${chosen.length} of ${lengthOf(v, panels)} values of ${dims[panels].name} are drawn.`);
  const steady = (matrix || player) && v.dims.includes(STEP) && !usedDims().includes(STEP);  // one scale for all steps
  const { shapes, least, most, positive } = measure(v, part, wheres, steady ? placesOf(v, STEP) : [fixed.get(STEP)]);
  const maps = wheres.map((where, k) => {
    const [down, across] = [rows, columns].map((d, side) => placesOf(v, d).slice(0, shapes[k][side])), at = new Map(where);
    return { where, down, across, values: down.map(r => { at.set(rows, r); return Float64Array.from(across, c => entry(v, part, at.set(columns, c))); }) };
  });
  const log = (state.logy ?? (!matrix && !v.minus && least > 0 && most > 100 * least)) && positive < Infinity;
  const signed = !log && (v.minus || (least < 0 && (matrix || most > 0))), far = Math.max(-least, most);
  const cells = maps.flatMap(map => map.values.flatMap(row => [...row])), empty = cells.filter(z => !Number.isFinite(z)).length;
  if (log && least <= 0) notes.push("Values that are not positive have no color on the logarithmic scale.");
  if (empty) notes.push(`${empty} of ${cells.length} cells are empty: they have no value.`);
  const beside = narrow ? Math.min(maps.length, 2) : Math.ceil(maps.length / Math.ceil(maps.length / 4)), lines = Math.ceil(maps.length / beside);
  const [tall, broad] = [0, 1].map(side => Math.max(...shapes.map(shape => shape[side]))), alike = shapes.every(shape => shape[0] === tall && shape[1] === broad);
  const axes = {}, traces = [], crosses = [], annotations = [];
  maps.forEach(({ where, down, across, values }, k) => {
    const id = k ? k + 1 : "", named = { xaxis: `x${id}`, yaxis: `y${id}` }, left = k % beside === 0, last = k + beside >= maps.length;
    const outer = (axis, shows) => ({ ...axis, showgrid: false, showticklabels: shows || !alike, ...(shows ? {} : { title: {} }) });
    traces.push({ type: "heatmap", ...named, z: log ? values.map(row => row.map(x => x > 0 ? Math.log10(x) : NaN)) : values, hoverinfo: "none", coloraxis: "coloraxis" });
    axes[`xaxis${id}`] = { ...outer(axisAlong(columns, across, { beside }), last), range: [-0.5, across.length - 0.5], ...(matrix ? { constrain: "domain" } : {}) };
    axes[`yaxis${id}`] = { ...outer(axisAlong(rows, down, { beside: Math.max(beside, lines) }), left), range: matrix ? [down.length - 0.5, -0.5] : [-0.5, down.length - 0.5] };
    if (matrix && Math.max(down.length / across.length, across.length / down.length) < 8) Object.assign(axes[`yaxis${id}`], { scaleanchor: `x${id}`, constrain: "domain" });
    if (panels >= 0) annotations.push({ xref: `x${id} domain`, yref: `y${id} domain`, x: 0.5, y: 1, yanchor: "bottom", showarrow: false, text: plain(shortened(`${dims[panels].symbol || dims[panels].name} = ${label(panels, where.get(panels))}`, (narrow ? 40 : 100) / beside)) });
    crosses.push({ ...crossCells(down, across, where, one), ...named });
  });
  const crossed = crosses.filter(trace => trace.x.length);
  const [cmin, cmax] = signed ? [-far, far] : log ? [positive, most].map(Math.log10) : [least, most];
  const coloraxis = {
    colorscale: signed ? DIVERGING : "Cividis", ...(cmin < cmax ? { cmin, cmax } : {}),
    colorbar: { thickness: 14, outlinewidth: 0, title: { text: plain(shortened(v.name, 40)), side: "right" }, tickfont: { color: style("--ink") }, exponentformat: "power", ...(log ? logTicks(cmin, cmax) : {}) },
  };
  const layout = layoutOf(axes);
  return {
    traces: [...traces, ...crossed], notes, maps, logx: false, logy: log, part,
    height: panels < 0 ? "" : `${lines * ((narrow ? 12 : 48) / beside + 4) + 3}rem`,
    legend: crossed.length ? [{ text: "cell with runs that diverged", color: style("--ink"), mark: "cross" }] : [],
    layout: { ...layout, plot_bgcolor: style("--panel"), coloraxis, annotations, margin: { ...layout.margin, t: panels < 0 ? 12 : 28 }, grid: { rows: lines, columns: beside, pattern: "independent", xgap: alike ? 0.08 : 0.25, ygap: alike ? 0.25 : 0.4 } },
    hit: (curve, [i, j]) => [i, curve * broad + j],
    size: [tall, maps.length * broad],
    at: (i, j) => {  // j goes on from map to map
      const k = Math.floor(j / broad), { where, down, across, values } = maps[k] ?? maps[0], x = j % broad, y = values[i]?.[x];
      if (y === undefined) return null;
      const here = new Map(where).set(rows, down[i]).set(columns, across[x]), n = one ? NaN : entry(v, "n", here);
      const head = one ? [`${v.name} = ${nice(y)}`] : [`${v.name}: mean ${nice(y)}`, `over ${n} of ${v.seeds} seeds`];
      return { x, y: i, id: k ? k + 1 : "", where: here, texts: [...head, ...describePlaces(v, here, one ? [] : [SEED]), ...fate(here, one)] };
    },
    up: matrix ? -1 : 1,
    summary: `heat map of ${v.name}${one ? "" : ", mean over the seeds"}, with ${dims[rows].name} against ${dims[columns].name}${panels < 0 ? "" : `, side by side for ${dims[panels].name}`}`,
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
