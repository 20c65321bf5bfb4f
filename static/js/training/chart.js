// One chart: the curves of a metric, drawn by uPlot into <div data-curve="success" data-label="Share solved"
// data-kind="share" data-ref="0.32">. What it says at the cursor stands in the element `at-success`.

import { show, showPlace } from "./words.js";

const { uPlot } = window;

const HEIGHTS = { wide: 280, small: 150, tight: 112 };
/** Narrower than this a chart stands beside another one on a phone: it is lower, and its axis takes less room. */
const TIGHT = 220;
/** Steps between ticks of the horizontal axis: there is no half an update. */
const WHOLE = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((first) => first * 10 ** power)).flat();
const WIDTHS = { mean: 2, own: 1, high: 0, low: 0 };
/** How the lines are called that are put into words; the ends of a band are not. */
const CALLED = { mean: "mean ", own: "this seed " };

export class Chart {
  plot = null;
  count = 0;
  isZoomed = false;

  /** `choose` is told of a click, with the plot whose cursor says where. */
  constructor(box, curves, choose) {
    this.box = box;
    this.curves = curves;
    this.choose = choose;
    this.kind = box.dataset.kind ?? "";
    this.reference = Number(box.dataset.ref);
  }

  /** Draw what there is now. The plot is kept, and with it the zoom, unless the number of its lines changes. */
  draw() {
    const table = this.curves.table(this.box.dataset.curve);
    if (this.plot && this.count === table.series.length) this.renew(table);
    else this.begin(table);
    this.describe(table);
  }

  renew({ joined }) {
    const { min, max } = this.plot.scales.x;
    this.plot.setData(joined, !this.isZoomed);
    if (this.isZoomed) this.plot.setScale("x", { min, max });
  }

  begin({ joined, series, bands }) {
    this.end();
    this.plot = new uPlot(this.options(series, bands), joined, this.box);
    this.count = series.length;
    this.isZoomed = false;
    this.plot.over.addEventListener("dblclick", () => { this.isZoomed = false; });
    this.plot.over.addEventListener("click", () => this.choose(this.plot));
  }

  end() {
    this.plot?.destroy();
    this.plot = null;
  }

  resize() {
    this.plot?.setSize({ width: this.box.clientWidth, height: this.height });
  }

  // -------------------------------------------------------------- how it looks

  get isTight() {
    return this.box.clientWidth < TIGHT;
  }

  get height() {
    return HEIGHTS[this.box.dataset.size ?? (this.isTight ? "tight" : "small")];
  }

  options(series, bands) {
    return {
      width: this.box.clientWidth,
      height: this.height,
      legend: { show: false },
      cursor: { y: false, points: { size: 7 }, drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { range: (_, low, high) => bounds(this.kind, low, high, this.reference) } },
      axes: this.axes(),
      series: [{}, ...series.map((line) => this.stroke(line))],
      bands: bands.map((pair) => ({ series: pair, fill: faint(this.ink(series[pair[0] - 1].arm)) })),
      hooks: this.hooks(series),
    };
  }

  axes() {
    const axis = {
      stroke: colour(this.box, "--muted"),
      font: `11px ${getComputedStyle(this.box).fontFamily}`,
      grid: { stroke: colour(this.box, "--line"), width: 1 },
      ticks: { show: false, size: 0 },
    };
    const across = {
      size: 26,
      space: () => (this.isTight ? 32 : 50),
      incrs: WHOLE,
      values: (_, places) => places.map((place) => showPlace(this.curves.view.x, place)),
    };
    const up = {
      size: () => (this.isTight ? 40 : 52),
      space: () => (this.isTight ? 20 : 30),
      values: (_, values) => values.map((value) => show(this.kind, value).replace(".0\u00a0%", "\u00a0%")),
    };
    return [{ ...axis, ...across }, { ...axis, ...up }];
  }

  stroke({ arm, role }) {
    const ink = this.ink(arm);
    return {
      stroke: role === "own" ? faint(ink, 55) : ink,
      width: WIDTHS[role],
      points: { show: (plot, place) => role in CALLED && known(plot.data[place]).length === 1 },
      spanGaps: true,
    };
  }

  ink(arm) {
    return colour(this.box, `--c${arm.colour}`);
  }

  hooks(series) {
    const muted = colour(this.box, "--muted");
    const warning = colour(this.box, "--warn");
    const hasReference = Number.isFinite(this.reference) && this.box.dataset.ref;
    return {
      draw: [
        ...(hasReference ? [(plot) => dash(plot, this.reference, muted)] : []),
        (plot) => { for (const place of this.alarms) mark(plot, place, warning); },
      ],
      setCursor: [(plot) => this.read(plot, series)],
      setSelect: [(plot) => { if (plot.select.width > 0) this.isZoomed = true; }],
    };
  }

  /** Where alarms of this metric began, on the present axis. The chart of the share solved has those of all metrics. */
  get alarms() {
    const marks = JSON.parse(document.getElementById("alarms")?.dataset.marks || "[]");
    const { curve } = this.box.dataset;
    const own = this.curves.arms[0]?.seeds[0];
    return marks
      .filter(({ metric }) => curve === "success" || metric === curve)
      .map(({ update }) => own?.[this.curves.view.x]?.[own.update.findIndex((shown) => shown >= update)])
      .filter((place) => place !== undefined);
  }

  // -------------------------------------------------------------- what it says

  /** What the chart says at the cursor, or at its end. */
  read(plot, series) {
    const out = document.getElementById(`at-${this.box.dataset.curve}`);
    if (!out) return;
    const ends = plot.data.slice(1).map((values) => values.findLastIndex(isKnown));
    const i = plot.cursor.idx ?? Math.max(-1, ...ends);
    const axis = this.curves.view.x;
    const several = this.curves.arms.length > 1;
    const values = this.inWords(series, (line, place) => {
      const name = several ? `${line.arm.label}: ` : this.called(line, series);
      return `${name}${show(this.kind, plot.data[place + 1][i])}`;
    });
    const unit = axis === "update" ? "" : ` ${axis}`;
    out.textContent = i >= 0 ? `${values} at ${showPlace(axis, plot.data[0][i])}${unit}` : "";
  }

  /** The last values, for those who hear the chart; and what it says at the cursor, for those who see it. */
  describe({ joined, series }) {
    const several = this.curves.arms.length > 1;
    const last = this.inWords(series, (line, place) => {
      const name = (several ? "" : this.called(line, series)) || `${line.arm.label} `;
      return `${name}${show(this.kind, joined[place + 1]?.findLast(isKnown))}`;
    });
    const { label } = this.box.dataset;
    this.box.setAttribute("role", "img");
    this.box.setAttribute("aria-label", `${label} by ${this.curves.view.x}: ${last || "no update yet"}`);
    this.read(this.plot, series);
  }

  inWords(series, say) {
    return series.map((line, place) => (line.role in CALLED ? say(line, place) : "")).filter(Boolean).join(", ");
  }

  /** The name of a line where there is one arm: none, unless its own seed is drawn beside the mean. */
  called({ role }, series) {
    return series.some((line) => line.role === "own") ? CALLED[role] : "";
  }
}

/** A colour of the stylesheet as a canvas understands it: the computed one, in the present theme. */
function colour(box, name) {
  const probe = box.appendChild(document.createElement("span"));
  probe.style.color = `var(${name})`;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

const isKnown = (value) => value !== null && value !== undefined;
const known = (values) => values.filter(isKnown);

const faint = (ink, share = 18) => `color-mix(in srgb, ${ink} ${share}%, transparent)`;

/** The ends of the vertical axis: a share has all of it, others room around their values and the reference. */
function bounds(kind, low, high, reference) {
  if (kind === "share") return [0, 1];
  const least = Number.isFinite(reference) ? Math.min(low, reference) : low;
  const most = Number.isFinite(reference) ? Math.max(high, reference) : high;
  const room = (most - least) * 0.08 || Math.abs(most) * 0.1 || 1;
  return [least >= 0 ? Math.max(0, least - room) : least - room, most + room];
}

/** A dashed line across the plot. */
function dash(plot, value, ink) {
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

/** A dashed line up the plot, with a triangle at its top. */
function mark(plot, place, ink) {
  const { left, top, width, height } = plot.bbox;
  const x = Math.round(plot.valToPos(place, "x", true));
  if (x < left || x > left + width) return;
  const size = 5 * devicePixelRatio;
  plot.ctx.save();
  plot.ctx.strokeStyle = ink;
  plot.ctx.fillStyle = ink;
  plot.ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  plot.ctx.beginPath();
  plot.ctx.moveTo(x, top);
  plot.ctx.lineTo(x, top + height);
  plot.ctx.stroke();
  plot.ctx.beginPath();
  plot.ctx.moveTo(x - size, top);
  plot.ctx.lineTo(x + size, top);
  plot.ctx.lineTo(x, top + 1.5 * size);
  plot.ctx.fill();
  plot.ctx.restore();
}
