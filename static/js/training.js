// The curves of a training, or of several beside each other. The page's data are fetched from data-curves (and again
// when the socket brings news), or stand in <script id="arms"> where trainings are compared; then what is new of those
// that run is fetched whenever the page has asked what can be said of them. data-others names trainings of the same
// settings with other seeds. Axis, smoothing, seeds and the update that is looked at are in the address.

import { Chart } from "./training/chart.js";
import { Curves, take } from "./training/curves.js";

const { htmx } = window;

const page = document.querySelector("[data-curves], [data-arms]");
/** Whether the page is about one training, whose update one looks at; else it compares several. */
const isOne = page.dataset.curves !== undefined;
const address = new URLSearchParams(location.search);
const view = {
  x: address.get("x") ?? "update",
  smooth: Number(address.get("smooth") ?? 0),
  seeds: address.get("seeds") ?? "all",
};
const curves = new Curves(view, isOne);
const charts = new Map();
const FOLLOW_MS = 4000;
/** The beginning of the columns of metrics of a training elsewhere. */
const OF_METRIC = "m:";
const PLACE = page.dataset.place ?? "update";

// ---------------------------------------------------------------- charts

function chartOf(box) {
  if (!charts.has(box)) charts.set(box, new Chart(box, curves, lookAtCursor));
  return charts.get(box);
}

function drawAll() {
  for (const box of document.querySelectorAll("[data-curve]")) chartOf(box).draw();
  const empty = document.getElementById("no-curve");
  if (empty) empty.hidden = curves.arms.some((arm) => arm.seeds.some((seed) => seed[view.x].length));
}

function drawAnew() {
  if (!charts.size) return; // no point has arrived: what is drawn first is drawn in the new way
  for (const chart of charts.values()) chart.end();
  drawAll();
}

// ---------------------------------------------------------------- news of those that run

let news = Promise.resolve();

function askForNews() {
  news = news.then(fetchNews);
}

async function fetchNews() {
  const seeds = curves.arms.flatMap((arm) => arm.seeds);
  await Promise.all(seeds.filter((seed) => isOne || !seed.over).map(fetchPoints));
  if (isOne) showNewest(curves.arms[0].seeds[0].update.at(-1));
  drawAll();
}

/** The new points of one seed. Of another one that cannot be had the old ones stay. */
async function fetchPoints(seed) {
  const source = new URL(seed.source, location.href);
  source.searchParams.set("after", seed.last ?? 0);
  const found = await fetch(source).then((answer) => answer.ok && answer.json()).catch(() => null);
  if (!found) return;
  take(seed, found);
  for (const key of Object.keys(found)) {
    if (key.startsWith(OF_METRIC)) addChart(key);
  }
}

/** What trainings elsewhere send may be about any metric: a chart for each that the page shows, also for new ones. */
function addChart(metric) {
  const charts = document.querySelector("[data-grows]");
  if (!charts || [...charts.querySelectorAll("[data-curve]")].some((box) => box.dataset.curve === metric)) return;
  const chart = document.getElementById("chart-of-a-metric").content.cloneNode(true);
  const name = metric.slice(OF_METRIC.length);
  const box = chart.querySelector(".curve-box");
  box.dataset.curve = metric;
  box.dataset.label = name;
  chart.querySelector("section").setAttribute("aria-label", name);
  chart.querySelector("[data-name]").textContent = name;
  chart.querySelector("[data-at]").id = `at-${metric}`;
  charts.append(chart);
}

document.addEventListener("htmx:oobAfterSwap", (event) => {
  if (event.detail.target.id === "facts") askForNews();
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (!isOne && event.target.id === "said") askForNews();
});

// ---------------------------------------------------------------- the update that is looked at

const slider = () => document.getElementById("look-at");
const nameUpdate = (update) => { document.getElementById("looking").textContent = `${PLACE} ${update}`; };

function showNewest(last) {
  if (last) {
    slider()?.setAttribute("max", last);
    slider()?.removeAttribute("disabled");
  }
  if ("follow" in page.dataset) follow(last);
}

/** Until somebody chooses an update, the newest one is looked at, as often as one can follow and while nobody reads. */
let newest = 0;
let followed = -FOLLOW_MS;
let toFollow = 0;
function follow(update) {
  newest = update;
  if (!update || !slider() || toFollow) return;
  toFollow = setTimeout(showFollowed, Math.max(0, followed + FOLLOW_MS - performance.now()));
}

function showFollowed() {
  toFollow = 0;
  const isRead = document.getElementById("looked-at").matches(":focus-within, :has(details[open])");
  if (isRead || !("follow" in page.dataset)) return;
  followed = performance.now();
  slider().value = newest;
  showUpdate(newest);
}

/** Look at the update under the cursor. */
function lookAtCursor(plot) {
  const i = plot.cursor.idx;
  if (!isOne || i === null || i === undefined) return;
  const own = curves.arms[0].seeds[0];
  const update = own.update[own[view.x].indexOf(plot.data[0][i])];
  if (update !== undefined) look(update);
}

function look(update) {
  if (!slider()) return;
  delete page.dataset.follow;
  slider().value = update;
  keep("update", update);
  showUpdate(update);
}

function showUpdate(update) {
  nameUpdate(update);
  const seed = page.dataset.seed === undefined ? "" : `?seed=${page.dataset.seed}`;
  const source = `${page.dataset.updates}${update}/${seed}`;
  htmx.ajax("GET", source, { source: "#looked-at", target: "#looked-at", swap: "innerHTML" });
}

let waiting = 0;
document.addEventListener("input", (event) => {
  if (event.target.id !== "look-at") return;
  const update = event.target.value;
  nameUpdate(update);
  clearTimeout(waiting);
  waiting = setTimeout(() => look(update), 150);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-look]");
  if (!button) return;
  const { look: update, lookSeed: seed } = button.dataset;
  if (seed === undefined) {
    look(update);
  } else {
    chooseSeed(seed);
    showUpdate(update);
  }
});

document.addEventListener("htmx:afterSwap", (event) => {
  const seed = event.target.querySelector?.("[data-shown-seed]")?.dataset.shownSeed;
  if (seed !== undefined && seed !== page.dataset.seed) chooseSeed(seed);
});

function chooseSeed(seed) {
  page.dataset.seed = seed;
  keep("seed", seed);
}

// ---------------------------------------------------------------- axis, seeds and smoothing

function keep(key, value) {
  const now = new URL(location.href);
  now.searchParams.set(key, value);
  history.replaceState(null, "", now);
}

function showAxis() {
  for (const button of document.querySelectorAll("[data-axis]")) {
    button.setAttribute("aria-pressed", button.dataset.axis === view.x);
  }
}

function showSeeds() {
  for (const button of document.querySelectorAll("[data-seeds]")) {
    button.setAttribute("aria-pressed", button.dataset.seeds === view.seeds);
  }
  const note = document.getElementById("band-note");
  if (note) note.hidden = view.seeds === "one";
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-axis]");
  if (!button) return;
  view.x = button.dataset.axis;
  keep("x", view.x);
  showAxis();
  drawAnew();
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-seeds]");
  if (!button) return;
  view.seeds = button.dataset.seeds;
  keep("seeds", view.seeds);
  showSeeds();
  drawAnew();
});

document.addEventListener("change", (event) => {
  if (event.target.id !== "smooth") return;
  view.smooth = Number(event.target.value);
  keep("smooth", view.smooth);
  drawAll();
});

// ---------------------------------------------------------------- the log of the process

// Whoever reads its end keeps reading its end, whoever reads further up stays there.
const log = document.getElementById("run-log");
const toEnd = () => { log.scrollTop = log.scrollHeight; };
let atEnd = true;
if (log) {
  toEnd();
  log.addEventListener("scroll", () => { atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 20; });
  log.addEventListener("htmx:afterSwap", () => { if (atEnd) toEnd(); });
}

// ---------------------------------------------------------------- beginning

/** The page's own training and those that differ from it in their seed: one arm, whose points are to be fetched. */
function oneArm({ name, colour, curves: own, others }) {
  const sources = [own, ...(others?.trim().split(/\s+/) ?? [])];
  const seeds = sources.map((source) => ({ source, update: [], turns: [], seconds: [], last: 0 }));
  return { label: name, colour, seeds };
}

new ResizeObserver(() => {
  for (const chart of charts.values()) chart.resize();
}).observe(page);
new MutationObserver(drawAnew).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAnew);

showAxis();
showSeeds();
const smoothing = document.getElementById("smooth");
if (smoothing) smoothing.value = String(view.smooth);
if (isOne) {
  curves.arms = [oneArm(page.dataset)];
  news = fetchNews();
} else {
  curves.arms = JSON.parse(document.getElementById("arms").textContent);
  drawAll();
}
