// The arithmetic of the credit lens, for a discount: the formulas of gem/credit.py and
// gem/analysis/true_advantage.py.

const BATCH_EPSILON = 1e-9;
const GROUP_EPSILON = 1e-6;
const SAME = 1e-9; // numbers that differ by less are equal, because sums of the same rewards differ in their last digit
const Z95 = 1.959963984540054;
const NOTHING = 1e-18;

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

export function moments(numbers) {
  if (!numbers.length) return { mean: 0, deviation: 0 };
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const mean = low === high ? low : sum(numbers) / numbers.length;
  if (high - low <= SAME * Math.max(1, Math.abs(low), Math.abs(high))) return { mean, deviation: 0 };
  return { mean, deviation: Math.sqrt(sum(numbers.map((number) => (number - mean) ** 2)) / numbers.length) };
}

export function returnsToGo(rewards, discount) {
  const togo = new Array(rewards.length);
  let later = 0;
  for (let turn = rewards.length - 1; turn >= 0; turn -= 1) togo[turn] = later = rewards[turn] + discount * later;
  return togo;
}

const scaled = (value, { mean, deviation }, epsilon) => (deviation ? (value - mean) / (deviation + epsilon) : 0);

/** Returns-to-go normalized as those of a batch with this mean and deviation. */
export function normalized(returns, batch) {
  return returns.map((value) => scaled(value, batch, BATCH_EPSILON));
}

/** ReBN: the returns-to-go of this episode, normalized over those of the whole batch. */
export function rebn(rewards, batch, discount) {
  const own = returnsToGo(rewards, discount);
  return normalized(own, moments([own, ...batch.map((other) => returnsToGo(other, discount))].flat()));
}

/** GRPO: the return of this episode within its group, the same for every turn; null without a group. */
export function grpo(rewards, group) {
  if (!group.length) return null;
  const returns = moments([rewards, ...group].map(sum));
  return rewards.map(() => scaled(sum(rewards), returns, GROUP_EPSILON));
}

/** PPO: the generalized advantage estimate, with the values before each turn. */
export function gae(rewards, values, discount, lambda) {
  const advantages = new Array(rewards.length);
  let later = 0;
  let next = 0;
  for (let turn = rewards.length - 1; turn >= 0; turn -= 1) {
    later = rewards[turn] + discount * next - values[turn] + discount * lambda * later;
    next = values[turn];
    advantages[turn] = later;
  }
  return advantages;
}

/** The true advantage of a turn: `outcomes` are those after the action that was taken, and those of choosing anew. */
export function trueAdvantage([taken, anew], discount) {
  const after = spread(taken, discount);
  const before = spread(anew, discount);
  return { mean: after.mean - before.mean, half: halfWidth(after, before), after: after.mean, before: before.mean };
}

function spread(outcomes, discount) {
  const values = outcomes.map(([count, rewards]) => [count, sum(rewards.map(([turn, reward]) => reward * discount ** turn))]);
  const n = sum(values.map(([count]) => count));
  const mean = sum(values.map(([count, value]) => count * value)) / n;
  return { n, mean, squares: sum(values.map(([count, value]) => count * (value - mean) ** 2)) };
}

/** Half of Welch's 95 % interval; null if nothing varies. */
function halfWidth(first, second) {
  const freedom = first.n + second.n - 2;
  if (freedom < 1 || first.squares + second.squares <= NOTHING) return null;
  const pooled = (first.squares + second.squares) / freedom;
  const parts = [first, second].map(({ n, squares }) => ({
    error: (squares > NOTHING && n > 1 ? squares / (n - 1) : pooled) / n,
    freedom: Math.max(1, n - 1),
  }));
  const error = sum(parts.map((part) => part.error));
  const welch = error ** 2 / sum(parts.map((part) => part.error ** 2 / part.freedom));
  return studentQuantile(welch) * Math.sqrt(error);
}

function studentQuantile(freedom) {
  const z = Z95;
  const terms = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
    (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92160,
  ];
  return z + sum(terms.map((term, power) => term / freedom ** (power + 1)));
}

/** How a row agrees with true advantages: r over the turns, and the signs that are right where zero is excluded. */
export function agreement(row, truths) {
  const pairs = row.map((value, turn) => [value, truths[turn]]).filter(([, truth]) => truth);
  if (pairs.length < 2) return null;
  const [first, second] = [moments(pairs.map(([value]) => value)), moments(pairs.map(([, truth]) => truth.mean))];
  const product = sum(pairs.map(([value, truth]) => (value - first.mean) * (truth.mean - second.mean))) / pairs.length;
  const clear = pairs.filter(([, truth]) => level(truth.mean, 1, truth.half));
  return {
    r: first.deviation < 1e-12 || second.deviation < 1e-12 ? null : product / (first.deviation * second.deviation),
    right: clear.filter(([value, truth]) => Math.sign(value) === Math.sign(truth.mean)).length,
    clear: clear.length,
  };
}

/** The tint of a value, -3 to 3, on a scale up to `top`; 0 for zero and for an interval that holds zero. */
export function level(value, top, half = null) {
  if (Math.abs(value) < 5e-4 || (half !== null && Math.abs(value) <= half)) return 0;
  return Math.sign(value) * Math.min(3, Math.max(1, Math.ceil((3 * Math.abs(value)) / top)));
}

/** A number with its sign, as pages write it. */
export function signed(value, places = 2) {
  const text = Math.abs(value).toFixed(places);
  if (Number(text) === 0) return text;
  return `${value < 0 ? "−" : "+"}${text}`;
}
