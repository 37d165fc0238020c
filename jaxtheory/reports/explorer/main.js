// Start, draw, and follow the mouse, the keys and the link.

let drawn = null, drawing = 0, cursor = null, player = 0;  // the timer of the next step, or 0

/** Draw what the record says; of several calls in a row only the last one draws. */
async function redraw() {
  const mine = ++drawing;
  document.documentElement.dataset.theme = state.theme || (isDark() ? "dark" : "light");
  buildControls();
  const text = `#${fragment()}`;
  if (location.hash !== text) history.replaceState(history.state, "", text);
  $("link").href = text;
  const v = shown();
  for (const needed of [variables[state.metric], ...predictionsOf(variables[state.metric]), diverged, divergedAt]) if (needed) await load(needed);
  if (mine !== drawing) return;
  drawn = state.view === "map" ? heat() : curves();
  $("plot").style.height = drawn.height ?? "";
  await Plotly.react("plot", drawn.traces, drawn.layout, { displayModeBar: false, responsive: true, doubleClick: "autosize", showTips: false });
  if (mine !== drawing) return;
  leave();
  setScales();
  $("legend").replaceChildren(...drawn.legend.map(legendItem));
  const fixed = fixedPhrases(v).join(", "), partly = v.minus && v.seeds < variables[state.metric].seeds && `The difference is over the ${v.seeds} seeds that are kept one by one.`, all = [fixed && `Shown at ${fixed}.`, partly, ...drawn.notes, ...v.notes.map(note => `${note}.`), ...fates()];
  $("notes").replaceChildren(...all.filter(Boolean).map(note => make("li", { text: note })));
  $("picture").setAttribute("aria-label", `${drawn.summary}${fixed ? `, at ${fixed}` : ""}`);
  document.documentElement.dataset.drawn = String(Number(document.documentElement.dataset.drawn ?? 0) + 1);
}

/** A sentence on the runs of the picture that diverged. */
function fates() {
  const { count, runs } = lost(fixedPlaces(shown()), usedDims().filter(d => d >= 0));
  const found = count ? [`${count} of the ${runs} runs of this picture diverged; they have no value from then on.`] : [];
  const stepped = shown().dims.includes(STEP);
  return about.stopped && stepped ? [...found, `${about.stopped} of all ${about.runs} runs were ended by the stop rule; they have no value after that step.`] : found;
}

/** Write the facts above the picture. */
function introduce() {
  const { name, theory, key, runs, points, seeds, finished } = about, percent = finished ? (100 * about.diverged / finished).toPrecision(2) : "0";
  $("name").textContent = theory ? `${theory}: ${name}` : name;
  const lostRuns = about.diverged ? `${about.diverged} diverged (${Number(percent)} %)` : "none diverged";
  $("facts").append(`${key ? `key ${key}, ` : ""}${runs} ${runs === 1 ? "run" : "runs"} (${points} ${points === 1 ? "point" : "points"}, ${seeds} ${seeds === 1 ? "seed" : "seeds"} each), `, make("span", { class: about.diverged ? "warn" : "", text: lostRuns }), ".");
  for (const [word, text] of [...about.facts, ...about.config]) $("config").append(make("dt", { text: word }), make("dd", { text }));
  if (finished < runs || about.refresh) {
    $("state").hidden = false;
    $("state").append(make("span", { class: "warn", text: `Unfinished: ${finished} of ${runs} runs are there.` }), about.refresh ? ` This page is written again every ${about.refresh} s.` : " The others are left out.");
  }
  const { variable, at } = about.opening, places = Object.entries(at).map(([name, place]) => { const d = dims.findIndex(dim => dim.name === name); return `, ${name} = ${label(d, place)}`; }).join("");
  if (places) $("opening").append("Farthest from its theory at the last step: ", make("a", { href: "#", text: variables[variable].name }), `${places}.`);
  const rule = ["Numbers have seven digits. A variable that is too large for this page is thinned in a fixed order: steps, seeds, further dimensions, axes; the notes below the picture say how."];
  if (about.left_out.length) rule.push(`Left out, as they are not numbers: ${about.left_out.join(", ")}.`);
  $("rule").textContent = rule.join(" ");
}

/** Show what is at line i and point j, beside the place where it is drawn. */
function visit(i, j) {
  const found = drawn.at(i, j), { [`xaxis${found?.id ?? ""}`]: xaxis, [`yaxis${found?.id ?? ""}`]: yaxis } = $("plot")._fullLayout;
  if (!found) return false;
  cursor = [i, j];
  const left = xaxis._offset + xaxis.d2p(found.x), top = yaxis._offset + yaxis.d2p(found.y), tip = $("tip"), width = $("picture").clientWidth;
  tip.textContent = found.texts.join("\n");
  tip.hidden = $("cursor").hidden = false;
  Object.assign($("cursor").style, { left: `${left}px`, top: `${top}px` });
  tip.style.left = `${Math.max(Math.min(left + 14, width - tip.offsetWidth - 4), 4)}px`;
  tip.style.top = `${Math.max(top - tip.offsetHeight - 12, 4)}px`;
  return true;
}

function leave() {
  $("tip").hidden = $("cursor").hidden = true;
}

/** Run through the steps of a map, from the first one if the last is shown; a second call stops. */
function play() {
  const places = placesOf(shown(), STEP), pause = Math.min(Math.max(8000 / places.length, 40), 400);
  const now = () => places.indexOf(placeIn(shown(), STEP)), ended = () => now() === places.length - 1;
  const next = () => {
    state.at.set(STEP, places[now() + 1]);
    player = ended() ? 0 : setTimeout(next, pause);
    redraw();
  };
  if (player) return halt(), redraw();
  if (ended()) state.at.set(STEP, places[0]);
  player = setTimeout(next, pause);
  redraw();
}

function halt() {
  clearTimeout(player);
  player = 0;
}

/** True where the curves of a cell are shown, from which the way leads back to its map. */
const isCell = () => history.state === "cell" && state.view === "curves";

/** Show the curves of a cell of a map along training; those of the loss where the variable has no steps. */
function openCell(i, j) {
  if (state.view !== "map") return;
  const found = drawn.at(i, j), metric = shown().dims.includes(STEP) ? state.metric : isMatrix() ? -1 : variables.findIndex(v => v.group === "along training");
  if (!found || metric < 0) return;
  for (const d of usedDims()) if (d >= 0) state.at.set(d, found.where.get(d));
  history.pushState("cell", "", location.href);
  if (metric !== state.metric) choose(metric);
  Object.assign(state, { view: "curves", x: STEP, color: -1, zoom: null, logx: null, logy: null });
  settle();
  redraw();
}

const KEYS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0] };

/** Go from value to value with the arrow keys, zoom with + and -. */
function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !drawn) return;
  if (event.key === "0" || event.key === "Escape") { leave(); if (event.key === "0") showWhole(); }
  else if (event.key === "+" || event.key === "-") zoomBy(event.key === "+" ? 0.7 : 1 / 0.7);
  else if (event.key === "Enter" && !$("cursor").hidden) openCell(...cursor);
  else if (KEYS[event.key]) {
    const up = drawn.up ?? -1, [di, dj] = [KEYS[event.key][0] * up, KEYS[event.key][1]], [rows, columns] = drawn.size;
    let [i, j] = cursor ?? [0, -1];
    if (!cursor) { if (!dj) j = 0; else i = 0; if (dj < 0) j = columns; if (di) i -= di; }
    for (let tries = 0; tries < rows * columns; tries++) {
      i = (i + di + rows) % rows;
      j = (j + dj + columns) % columns;
      if (visit(i, j)) break;
    }
  } else return;
  event.preventDefault();
}

function zoomBy(factor) {
  const { xaxis, yaxis } = $("plot")._fullLayout;
  state.zoom = [xaxis, yaxis].flatMap(({ range: [a, b] }) => [a + b - (b - a) * factor, a + b + (b - a) * factor].map(x => x / 2));
  redraw();
}

function showWhole() {
  state.zoom = null;
  redraw();
}

/** Take over a zoom that was made with the mouse, in any of the maps. */
function relaid(event) {
  const [, id] = Object.keys(event).join().match(/[xy]axis(\d*)\.range\[0\]/) ?? [];
  if (id !== undefined) {
    const layout = $("plot")._fullLayout;
    state.zoom = ["x", "y"].flatMap(side => layout[`${side}axis${id}`].range).map(Number);
    redraw();
  } else if (Object.keys(event).some(name => name.endsWith(".autorange"))) showWhole();
}

/** Load this page again while the sweep is unfinished, but not while it is being used. */
function keepUp() {
  if (!about.refresh) return;
  $("reload").hidden = false;
  let used = 0;
  for (const kind of ["pointerdown", "pointermove", "keydown", "input", "wheel"]) addEventListener(kind, () => { used = Date.now(); }, { passive: true });
  const memory = name => { try { return sessionStorage.getItem(name); } catch { return null; } };
  const remember = (name, value) => { try { sessionStorage.setItem(name, value); } catch { /* a page from a file may have no storage */ } };
  const same = memory("explore.stamp") === about.stamp ? Number(memory("explore.same") ?? 0) + 1 : 0;
  remember("explore.stamp", about.stamp);
  remember("explore.same", same);
  if (memory("explore.reloads") === "0") $("reloads").checked = false;
  $("reloads").addEventListener("change", () => remember("explore.reloads", $("reloads").checked ? "1" : "0"));
  const focused = memory("explore.focus");
  if (focused) $(focused)?.focus({ preventScroll: true });
  const again = () => {
    if (!$("reloads").checked || document.hidden || player || Date.now() - used < 3000) return setTimeout(again, 1000);
    remember("explore.focus", document.activeElement?.id ?? "");
    location.reload();
  };
  setTimeout(again, 1000 * Math.min(about.refresh * (1 + same), 30));  // rarer if nothing has changed
}

async function start() {
  introduce();
  if (!variables.length) {
    $("picture").textContent = "No run is finished yet.";
    for (const id of ["choose", "adjust", "hint"]) $(id).hidden = true;
    document.querySelector(".buttons").hidden = true;
    return keepUp();
  }
  if (!("DecompressionStream" in window)) throw new Error("this page needs a browser of 2023 or later");
  const library = document.createElement("script");
  library.textContent = new TextDecoder().decode(await unpacked($("library").textContent));
  document.head.append(library);
  buildMetrics();
  restore(location.hash.slice(1));
  await redraw();
  const plot = $("plot");
  const hit = event => drawn.hit(event.points[0].curveNumber, event.points[0].pointNumber) ?? [-1, -1];
  plot.on("plotly_hover", event => visit(...hit(event)));
  plot.on("plotly_click", event => openCell(...hit(event)));
  plot.on("plotly_unhover", leave);
  plot.on("plotly_relayout", relaid);
  $("picture").addEventListener("keydown", pressed);
  $("picture").addEventListener("blur", leave);
  $("picture").addEventListener("pointerdown", () => $("picture").focus({ preventScroll: true }));
  $("png").addEventListener("click", saveImage);
  $("csv").addEventListener("click", saveTable);
  $("whole").addEventListener("click", showWhole);
  $("shade").addEventListener("click", () => { state.theme = isDark() ? "light" : "dark"; redraw(); });
  $("link").addEventListener("click", event => {
    event.preventDefault();
    navigator.clipboard?.writeText(location.href).then(() => { $("link").textContent = "Link to this view (copied)"; }, () => {});
  });
  for (const form of [$("choose"), $("adjust")]) form.addEventListener("submit", event => event.preventDefault());
  addEventListener("hashchange", () => { if (location.hash !== `#${fragment()}`) { restore(location.hash.slice(1)); redraw(); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw());
  keepUp();
}

start().catch(error => {
  $("picture").textContent = `The picture cannot be drawn: ${error.message}`;
  throw error;
});
