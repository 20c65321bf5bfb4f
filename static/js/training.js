// The curves of a training, or of several beside each other: drawn by uPlot from columns of numbers.
// A chart is <div data-curve="success" data-label="Share solved" data-kind="share" data-ref="0.32">. The page's data are
// fetched from data-curves (and again when the socket brings news), or stand in <script id="arms"> where trainings are
// compared (what is new of those that run is fetched whenever the page has asked what can be said of them). data-others
// names trainings of the same settings with other seeds. Axis, smoothing, seeds and the update that is looked at are in
// the address.

const { uPlot, htmx } = window;

const page = document.querySelector("[data-curves], [data-arms]");
const address = new URLSearchParams(location.search);
const view = { x: address.get("x") ?? "update", smooth: Number(address.get("smooth") ?? 0), seeds: address.get("seeds") ?? "all" };
const charts = new Map();
const HEIGHTS = { wide: 280, small: 150, tight: 112 };
/** Narrower than this a chart stands beside another one on a phone: it is lower, and its axis takes less room. */
const TIGHT = 220;
const FOLLOW_MS = 4000;
/** Steps between ticks of the horizontal axis: there is no half an update. */
const WHOLE = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((first) => first * 10 ** power)).flat();
const WIDTHS = { mean: 2, own: 1, high: 0, low: 0 };

// ---------------------------------------------------------------- data

/** What is drawn: arms with seeds, each of them columns; one training is one arm with one seed. */
let arms = [];

/** The seeds of an arm that are drawn: those that have begun, or the page's own alone. */
function seedsOf(arm) {
  if (page.dataset.curves && view.seeds === "one") return arm.seeds.slice(0, 1);
  const begun = arm.seeds.filter((seed) => seed[view.x]?.length);
  return begun.length ? begun : arm.seeds.slice(0, 1);
}

/** The exponential moving average, with its start corrected: a window of n weighs the last n updates most. */
function smoothed(values) {
  if (!view.smooth) return values;
  const keep = 1 - 2 / (view.smooth + 1);
  let mean = 0;
  let weight = 0;
  return values.map((value) => {
    if (value === null) return null;
    mean = keep * mean + (1 - keep) * value;
    weight = keep * weight + (1 - keep);
    return mean / weight;
  });
}

/** Mean, lowest and highest of an arm's seeds at each of their common places. */
function banded(arm, metric) {
  const seeds = seedsOf(arm);
  const lines = seeds.map((seed) => smoothed(seed[metric]));
  const count = Math.min(...lines.map((line) => line.length));
  const x = seeds[0][view.x].slice(0, count);
  const at = (i) => lines.map((line) => line[i]).filter((value) => value !== null);
  const pick = (choose) => x.map((_, i) => (at(i).length ? choose(at(i)) : null));
  return { x, mean: pick((v) => v.reduce((a, b) => a + b, 0) / v.length), low: pick((v) => Math.min(...v)), high: pick((v) => Math.max(...v)) };
}

// ---------------------------------------------------------------- drawing

/** A colour of the stylesheet as a canvas understands it: the computed one, in the present theme. */
function colour(box, name) {
  const probe = box.appendChild(document.createElement("span"));
  probe.style.color = `var(${name})`;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

const isTight = (box) => box.clientWidth < TIGHT;
const heightOf = (box) => HEIGHTS[box.dataset.size ?? (isTight(box) ? "tight" : "small")];

/** With one digit after the point, a tie to the even one: as the server writes the same number beside the chart. */
function tenths(value) {
  const below = Math.floor(10 * value);
  const isTie = 10 * value - below === 0.5;
  return ((isTie ? below + (below % 2) : Math.round(10 * value)) / 10).toFixed(1);
}

function show(kind, value) {
  if (value === null || value === undefined) return "–";
  if (kind === "share") return `${tenths(100 * value)} %`;
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en");
  if (size >= 0.001 || size === 0) return String(Number(value.toPrecision(3)));
  return value.toExponential(1);
}

function showX(value) {
  if (view.x !== "seconds") return Math.round(value).toLocaleString("en");
  return value < 120 ? `${Math.round(value)} s` : `${(value / 60).toFixed(1)} min`;
}

function tables(metric) {
  const series = [];
  const bands = [];
  const columns = [];
  for (const arm of arms) {
    const { x, mean, low, high } = banded(arm, metric);
    series.push({ arm, role: "mean" });
    columns.push([x, mean]);
    if (seedsOf(arm).length > 1) {
      bands.push([series.length + 1, series.length + 2]);
      series.push({ arm, role: "high" }, { arm, role: "low" });
      columns.push([x, high], [x, low]);
      if (page.dataset.curves) {
        series.push({ arm, role: "own" });
        columns.push([arm.seeds[0][view.x], smoothed(arm.seeds[0][metric])]);
      }
    }
  }
  const joined = columns.length > 1 ? uPlot.join(columns) : (columns[0] ?? [[], []]);
  return { joined, series, bands };
}

function draw(box) {
  const metric = box.dataset.curve;
  const kind = box.dataset.kind ?? "";
  const { joined, series, bands } = tables(metric);
  const there = charts.get(box);
  if (there && there.count === series.length) {
    const { min, max } = there.plot.scales.x;
    there.plot.setData(joined, !there.zoomed);
    if (there.zoomed) there.plot.setScale("x", { min, max });
    return name(box, kind, joined, series);
  }
  there?.plot.destroy();
  const muted = colour(box, "--muted");
  const ink = (arm) => colour(box, `--c${arm.colour}`);
  const font = `11px ${getComputedStyle(box).fontFamily}`;
  const axis = { stroke: muted, font, grid: { stroke: colour(box, "--line"), width: 1 }, ticks: { show: false, size: 0 } };
  const reference = Number(box.dataset.ref);
  const plot = new uPlot({
    width: box.clientWidth,
    height: heightOf(box),
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: true, y: false } },
    scales: { x: { time: false }, y: { range: (_, low, high) => bounds(kind, low, high, reference) } },
    axes: [{ ...axis, size: 26, space: () => (isTight(box) ? 32 : 50), incrs: WHOLE, values: (_, at) => at.map(showX) }, { ...axis, size: () => (isTight(box) ? 40 : 52), space: () => (isTight(box) ? 20 : 30), values: (_, at) => at.map((v) => show(kind, v).replace(".0 %", " %")) }],
    series: [{}, ...series.map(({ arm, role }) => ({ stroke: role === "own" ? faint(ink(arm), 55) : ink(arm), width: WIDTHS[role], points: { show: (u) => role in SAID && u.data[0].length === 1 }, spanGaps: true }))],
    bands: bands.map((pair) => ({ series: pair, fill: faint(ink(series[pair[0] - 1].arm)) })),
    hooks: {
      draw: Number.isFinite(reference) && box.dataset.ref ? [(u) => line(u, reference, muted)] : [],
      setCursor: [(u) => read(box, kind, u, series)],
      setSelect: [(u) => { if (u.select.width > 0) charts.get(box).zoomed = true; }],
    },
  }, joined, box);
  charts.set(box, { plot, count: series.length, zoomed: false });
  plot.over.addEventListener("dblclick", () => { charts.get(box).zoomed = false; });
  plot.over.addEventListener("click", () => choose(plot));
  return name(box, kind, joined, series);
}

function bounds(kind, low, high, reference) {
  if (kind === "share") return [0, 1];
  const least = Number.isFinite(reference) ? Math.min(low, reference) : low;
  const most = Number.isFinite(reference) ? Math.max(high, reference) : high;
  const room = (most - least) * 0.08 || Math.abs(most) * 0.1 || 1;
  return [least >= 0 ? Math.max(0, least - room) : least - room, most + room];
}

const faint = (ink, share = 18) => `color-mix(in srgb, ${ink} ${share}%, transparent)`;

function line(plot, value, ink) {
  const y = Math.round(plot.valToPos(value, "y", true));
  plot.ctx.save();
  plot.ctx.strokeStyle = ink;
  plot.ctx.setLineDash([4, 4]);
  plot.ctx.beginPath();
  plot.ctx.moveTo(plot.bbox.left, y);
  plot.ctx.lineTo(plot.bbox.left + plot.bbox.width, y);
  plot.ctx.stroke();
  plot.ctx.restore();
}

const SAID = { mean: "mean ", own: "this seed " };
const saidOf = (arm, role, series) => (arms.length > 1 ? `${arm.label}: ` : series.some((one) => one.role === "own") ? SAID[role] : "");

/** What the chart says at the cursor, or at its end. */
function read(box, kind, plot, series) {
  const i = plot.cursor.idx ?? plot.data[0].length - 1;
  const said = series
    .map(({ arm, role }, place) => (role in SAID ? `${saidOf(arm, role, series)}${show(kind, plot.data[place + 1][i])}` : ""))
    .filter(Boolean)
    .join(", ");
  const out = document.getElementById(`at-${box.dataset.curve}`);
  if (out) out.textContent = i >= 0 ? `${said} at ${showX(plot.data[0][i])}${view.x === "update" ? "" : ` ${view.x}`}` : "";
}

function name(box, kind, joined, series) {
  const last = series.map(({ arm, role }, place) => (role in SAID ? `${arms.length > 1 ? `${arm.label} ` : saidOf(arm, role, series) || `${arm.label} `}${show(kind, joined[place + 1]?.findLast((v) => v !== null && v !== undefined))}` : "")).filter(Boolean);
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", `${box.dataset.label} by ${view.x}: ${last.join(", ") || "no update yet"}`);
  const { plot } = charts.get(box);
  read(box, kind, plot, series);
}

function drawAll() {
  for (const box of document.querySelectorAll("[data-curve]")) draw(box);
  const empty = document.getElementById("no-curve");
  if (empty) empty.hidden = arms.some((arm) => arm.seeds.some((seed) => seed[view.x].length));
}

function anew() {
  for (const { plot } of charts.values()) plot.destroy();
  charts.clear();
  drawAll();
}

// ---------------------------------------------------------------- one training: its news, and the update looked at

let news = Promise.resolve();

async function fetchNews() {
  const seeds = arms.flatMap((arm) => arm.seeds);
  await Promise.all(seeds.filter((seed) => page.dataset.curves || !seed.over).map(more));
  if (page.dataset.curves) showNewest(arms[0].seeds[0]);
  drawAll();
}

function showNewest({ last }) {
  if (last) {
    slider()?.setAttribute("max", last);
    slider()?.removeAttribute("disabled");
  }
  if ("follow" in page.dataset) follow(last);
}

/** The new points of one seed. Of another one that cannot be had the old ones stay. */
async function more(seed) {
  const answer = await fetch(`${seed.source}?after=${seed.last ?? 0}`);
  if (!answer.ok) return;
  const found = await answer.json();
  for (const [key, values] of Object.entries(found)) {
    if (Array.isArray(values)) seed[key] = [...(seed[key] ?? []), ...values];
  }
  seed.last = found.last;
  seed.over = found.over;
}

/** Until somebody chooses an update, the newest one is looked at, as often as one can follow and while nobody reads. */
let followed = 0;
function follow(update) {
  const read = document.getElementById("looked-at").matches(":focus-within, :has(details[open])");
  if (!update || read || performance.now() - followed < FOLLOW_MS) return;
  followed = performance.now();
  slider().value = update;
  showUpdate(update);
}

const slider = () => document.getElementById("look-at");

/** Look at the update under the cursor. */
function choose(plot) {
  const i = plot.cursor.idx;
  if (!page.dataset.curves || i === null || i === undefined) return;
  const own = arms[0].seeds[0];
  const update = own.update[own[view.x].indexOf(plot.data[0][i])];
  if (update !== undefined) look(update);
}

function look(update) {
  delete page.dataset.follow;
  slider().value = update;
  keep("update", update);
  showUpdate(update);
}

function showUpdate(update) {
  document.getElementById("looking").textContent = `update ${update}`;
  htmx.ajax("GET", `${page.dataset.updates}${update}/?seed=${page.dataset.seed ?? 0}`, { target: "#looked-at", swap: "outerHTML" });
}

function keep(key, value) {
  const now = new URL(location.href);
  now.searchParams.set(key, value);
  history.replaceState(null, "", now);
}

let waiting = 0;
document.addEventListener("input", (event) => {
  if (event.target.id !== "look-at") return;
  const update = event.target.value;
  document.getElementById("looking").textContent = `update ${update}`;
  clearTimeout(waiting);
  waiting = setTimeout(() => look(update), 150);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-look]");
  if (button) look(button.dataset.look);
});

document.addEventListener("click", (event) => {
  const axis = event.target.closest("[data-axis]");
  if (!axis) return;
  for (const button of document.querySelectorAll("[data-axis]")) button.setAttribute("aria-pressed", button === axis);
  view.x = axis.dataset.axis;
  keep("x", view.x);
  anew();
});

document.addEventListener("click", (event) => {
  const seeds = event.target.closest("[data-seeds]");
  if (!seeds) return;
  view.seeds = seeds.dataset.seeds;
  keep("seeds", view.seeds);
  showSeeds();
  anew();
});

function showSeeds() {
  for (const button of document.querySelectorAll("[data-seeds]")) button.setAttribute("aria-pressed", button.dataset.seeds === view.seeds);
  const note = document.getElementById("band-note");
  if (note) note.hidden = view.seeds === "one";
}
showSeeds();

document.addEventListener("change", (event) => {
  if (event.target.id !== "smooth") return;
  view.smooth = Number(event.target.value);
  keep("smooth", view.smooth);
  drawAll();
});

document.addEventListener("htmx:oobAfterSwap", (event) => {
  if (event.detail.target.id === "facts") news = news.then(fetchNews);
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (page.dataset.curves === undefined && event.target.id === "said") news = news.then(fetchNews);
  const seed = event.target.querySelector?.("[data-shown-seed]")?.dataset.shownSeed;
  if (seed === undefined || seed === page.dataset.seed) return;
  page.dataset.seed = seed;
  keep("seed", seed);
});

// The log of the process: whoever reads its end keeps reading its end, whoever reads further up stays there.
const log = document.getElementById("run-log");
const toEnd = () => { log.scrollTop = log.scrollHeight; };
let atEnd = true;
if (log) {
  toEnd();
  log.addEventListener("scroll", () => { atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 20; });
  log.addEventListener("htmx:afterSwap", () => { if (atEnd) toEnd(); });
}

new ResizeObserver(() => {
  for (const [box, { plot }] of charts) plot.setSize({ width: box.clientWidth, height: heightOf(box) });
}).observe(page);
new MutationObserver(anew).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", anew);

for (const button of document.querySelectorAll("[data-axis]")) button.setAttribute("aria-pressed", button.dataset.axis === view.x);
if (document.getElementById("smooth")) document.getElementById("smooth").value = String(view.smooth);
if (page.dataset.curves) {
  const sources = [page.dataset.curves, ...(page.dataset.others?.split(" ") ?? [])];
  arms = [{ label: page.dataset.name, colour: page.dataset.colour, seeds: sources.map((source) => ({ source, update: [], turns: [], seconds: [], last: 0 })) }];
  news = fetchNews();
} else {
  arms = JSON.parse(document.getElementById("arms").textContent);
  drawAll();
}
