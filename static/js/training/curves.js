// The numbers behind the charts: arms with seeds, each of them columns. One training is one arm, its seeds those that
// differ in nothing else.

const { uPlot } = window;

export class Curves {
  /** What is drawn; the page fills it. */
  arms = [];

  /** `view` says which axis, how smooth and which seeds; with `isOne` the page is about the first seed of one arm. */
  constructor(view, isOne) {
    this.view = view;
    this.isOne = isOne;
  }

  /** The seeds of an arm that are drawn: those that have begun, or the page's own alone. */
  seedsOf(arm) {
    if (this.isOne && this.view.seeds === "one") return arm.seeds.slice(0, 1);
    const begun = arm.seeds.filter((seed) => seed[this.view.x]?.length);
    return begun.length ? begun : arm.seeds.slice(0, 1);
  }

  /**
   * The exponential moving average, with its start corrected: a window of n weighs the last n updates most. A metric
   * whose points have not arrived yet has no values.
   */
  smoothed(values = []) {
    if (!this.view.smooth) return values;
    const keep = 1 - 2 / (this.view.smooth + 1);
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
  banded(arm, metric) {
    const seeds = this.seedsOf(arm);
    const lines = seeds.map((seed) => this.smoothed(seed[metric]));
    const count = Math.min(...lines.map((line) => line.length));
    const x = seeds[0][this.view.x].slice(0, count);
    const at = (i) => lines.map((line) => line[i]).filter((value) => value !== null);
    const pick = (choose) => x.map((_, i) => (at(i).length ? choose(at(i)) : null));
    return {
      x,
      mean: pick((values) => values.reduce((a, b) => a + b, 0) / values.length),
      low: pick((values) => Math.min(...values)),
      high: pick((values) => Math.max(...values)),
    };
  }

  /** One arm's columns, each with its role: the mean, and with several seeds the ends of the band and the own seed. */
  columnsOf(arm, metric) {
    const { x, mean, low, high } = this.banded(arm, metric);
    const columns = [{ arm, role: "mean", x, y: mean }];
    if (this.seedsOf(arm).length > 1) {
      columns.push({ arm, role: "high", x, y: high }, { arm, role: "low", x, y: low });
      if (this.isOne) {
        const own = arm.seeds[0];
        columns.push({ arm, role: "own", x: own[this.view.x], y: this.smoothed(own[metric]) });
      }
    }
    return columns;
  }

  /** All columns of a chart as uPlot takes them, the series that they are, and the pairs between which a band lies. */
  table(metric) {
    const series = this.arms.flatMap((arm) => this.columnsOf(arm, metric));
    const bands = series.flatMap(({ role }, place) => (role === "high" ? [[place + 1, place + 2]] : []));
    const columns = series.map(({ x, y }) => [x, y]);
    const joined = columns.length > 1 ? uPlot.join(columns) : (columns[0] ?? [[], []]);
    return { joined, series, bands };
  }
}

/**
 * Take what was fetched of a seed: columns of equal length, ordered by update. They replace all if they are the whole,
 * and follow what is there, or are sorted in where a training elsewhere has sent something late.
 */
export function take(seed, found) {
  const keys = [...new Set([...Object.keys(seed), ...Object.keys(found)])]
    .filter((key) => Array.isArray(found[key] ?? seed[key]));
  const known = seed.update ?? [];
  const isLate = known.length > 0 && found.update.length > 0 && found.update[0] <= known.at(-1);
  if (found.whole) for (const key of keys) seed[key] = found[key] ?? [];
  else if (isLate) sortIn(seed, found, keys);
  else append(seed, found, keys);
  seed.last = found.last;
  seed.over = found.over;
}

const has = (part, key) => Boolean(part[key]?.length);

/** Join the columns of two parts, with gaps where one of them has none. */
function append(seed, found, keys) {
  const parts = [{ update: [], ...seed }, found];
  for (const key of keys.filter((name) => parts.some((part) => has(part, name)))) {
    seed[key] = parts.flatMap((part) => (has(part, key) ? part[key] : part.update.map(() => null)));
  }
}

function sortIn(seed, found, keys) {
  const rows = new Map();
  for (const source of [seed, found]) {
    source.update.forEach((update, place) => {
      const row = rows.get(update) ?? {};
      for (const key of keys) {
        const value = source[key]?.[place] ?? null;
        if (value !== null) row[key] = value;
      }
      rows.set(update, row);
    });
  }
  const updates = [...rows.keys()].sort((a, b) => a - b);
  for (const key of keys.filter((name) => has(seed, name) || has(found, name))) {
    seed[key] = updates.map((update) => rows.get(update)[key] ?? null);
  }
}
