// Numbers of the curves in words, as the server writes the same numbers beside them.

/** With one digit after the point, a tie to the even one. */
function tenths(value) {
  const below = Math.floor(10 * value);
  const isTie = 10 * value - below === 0.5;
  return ((isTie ? below + (below % 2) : Math.round(10 * value)) / 10).toFixed(1);
}

/** A value of a chart: `54.0 %` of the kind "share", else with three digits that count. */
export function show(kind, value) {
  if (value === null || value === undefined) return "–";
  if (kind === "share") return `${tenths(100 * value)}\u00a0%`;
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en");
  if (size >= 0.001 || size === 0) return String(Number(value.toPrecision(3)));
  return value.toExponential(1);
}

/** A place on the horizontal axis: an update, a number of turns, or a time. */
export function showPlace(axis, value) {
  if (axis !== "seconds") return Math.round(value).toLocaleString("en");
  return value < 120 ? `${Math.round(value)}\u00a0s` : `${(value / 60).toFixed(1)}\u00a0min`;
}
