// What is shown, as a table or as an image.

/** Rows of what is shown, below a header. */
function rowsShown() {
  return state.view === "map" ? rowsOfMap() : rowsOfCurves();
}

/** Columns for the dimensions of a variable and for the fields that are zipped with them. */
function placeColumns(v, withSeed) {
  const used = v.dims.filter(d => d !== SEED || withSeed);
  return {
    titles: used.flatMap(d => [dims[d].name, ...dims[d].also.map(pair => pair[0])]),
    cells: where => used.flatMap(d => [dims[d].labels[where.get(d)], ...dims[d].also.map(pair => pair[1][where.get(d)])]),
  };
}

function valueCell(x, kind) {
  return Number.isNaN(x) ? "" : exact(x, kind);
}

function rowsOfCurves() {
  const v = shown(), mean = drawn.lines[0]?.part === "mean", columns = placeColumns(v, !mean);
  const values = mean ? [`${v.name} mean`, `${v.name} 5 %`, `${v.name} 95 %`, "seeds with a value"] : [v.name];
  const rows = [[...columns.titles, ...values, ...drawn.predictions.map(p => p.name)]];
  for (const line of drawn.lines) {
    drawn.places.forEach((place, j) => {
      const where = new Map(line.where);
      if (drawn.x >= 0) where.set(drawn.x, place);
      const numbers = mean ? [line.y[j], line.low[j], line.high[j], line.n[j]] : [line.y[j]];
      const theory = line.theory.map((curve, k) => valueCell(curve.y[curve.places.indexOf(place)] ?? NaN, drawn.predictions[k].kind));
      rows.push([...columns.cells(where), ...numbers.map(x => valueCell(x, v.kind)), ...theory]);
    });
  }
  return rows;
}

function rowsOfMap() {
  const v = shown(), mean = drawn.part === "mean", columns = placeColumns(v, !mean), rows = [[...columns.titles, mean ? `${v.name} mean` : v.name]];
  for (const { where, down, across, values } of drawn.maps) {
    down.forEach((r, i) => across.forEach((c, j) => {
      rows.push([...columns.cells(new Map(where).set(state.rows, r).set(state.columns, c)), valueCell(values[i][j], v.kind)]);
    }));
  }
  return rows;
}

/** A cell of CSV; no text becomes a formula in a spreadsheet, and control characters are escapes. */
function csvCell(value) {
  const escaped = c => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`;
  let text = String(value).replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g, escaped);
  if (/^\s*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) && !(text.trim() && Number.isFinite(Number(text)))) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const csvText = rows => rows.map(row => row.map(csvCell).join(",")).join("\r\n") + "\r\n";

function save(content, kind, suffix) {
  const link = document.createElement("a"), url = content instanceof Blob ? URL.createObjectURL(content) : content;
  link.href = url;
  link.download = `${about.name}-${shown().name}`.replace(/[^\w.-]+/g, "_").slice(0, 80) + suffix;
  document.body.append(link);
  link.click();
  link.remove();
  if (url.startsWith("blob:")) setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function saveTable() {
  save(new Blob([csvText(rowsShown())], { type: "text/csv" }), "text/csv", ".csv");
}

/** Save the picture with its title, its legend and what it is taken at. */
async function saveImage() {
  const v = shown(), where = fixedPhrases(v).join(", ");
  const heading = [`${shortened(`${about.name}: ${drawn.summary}`, 110)}`, shortened(where, 120)].filter(Boolean).map(plain).join("<br>");
  const layout = { ...drawn.layout, width: 1100, height: 700, showlegend: state.view === "curves" && drawn.traces.length > 1, legend: { font: { size: 12 } }, margin: { l: 70, r: 20, t: 70, b: 60 }, title: { text: heading, font: { size: 15 }, x: 0.02, xanchor: "left" } };
  const data = drawn.traces.map(trace => ({ ...trace, name: plain(shortened(trace.name ?? "", 50)) }));
  save(await Plotly.toImage({ data, layout }, { format: "png", width: 1100, height: 700, scale: 2 }), "image/png", ".png");
}
