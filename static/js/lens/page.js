// The page of the credit lens: bars, tints and the sentence of the turn shown follow the discount and the player.

import { agreement, gae, grpo, level, rebn, returnsToGo, signed, trueAdvantage } from "./credit.js";
import { bar, truthBar, waiting } from "./draw.js";

const POLL_MS = 1000;
const NAMES = { reinforce: "REINFORCE", rebn: "ReBN", grpo: "GRPO", ppo: "PPO" };

const panel = document.querySelector("[data-lens]");
const slider = panel.querySelector("#gamma");
const tintedBy = document.querySelector("[data-tinted-by]");
const scrubber = document.getElementById("scrub");
let data = JSON.parse(document.getElementById("lens-data").textContent);
let rows = {};
let truths = new Map();

// ---------------------------------------------------------------- computing

/** All rows at the discount of the slider; null for what cannot be computed. */
function compute() {
  const discount = Number(slider.value);
  const { rewards } = data;
  const number = (truth) => (turn) => truth.turns[turn + 1] && trueAdvantage(truth.turns[turn + 1], discount);
  truths = new Map(data.truths.map((truth) => [truth.id, rewards.map((_, turn) => number(truth)(turn) ?? null)]));
  const values = truths.get(data.critic)?.map((truth) => truth.before);
  const togo = returnsToGo(rewards, discount);
  rows = {
    reward: rewards,
    togo,
    reinforce: togo,
    rebn: rebn(rewards, data.batch, discount),
    grpo: grpo(rewards, data.group),
    ppo: values ? gae(rewards, values, discount, data.lambda) : null,
  };
}

/** The measurement that rows are compared with and sentences speak of: the one of PPO's values, or the latest. */
function reference() {
  return data.truths.find((truth) => truth.id === data.critic) ?? data.truths.at(-1) ?? null;
}

// ---------------------------------------------------------------- drawing

function cells(name) {
  const place = panel.querySelector(`[data-row="${name}"]`);
  while (place && place.children.length < data.rewards.length) {
    const cell = document.createElement("span");
    cell.dataset.turn = place.children.length + 1;
    place.append(cell);
  }
  return place ? [...place.children] : [];
}

function drawHead() {
  cells("head").forEach((cell, turn) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = turn + 1;
    button.setAttribute("aria-label", `Turn ${turn + 1}, ${data.names[turn]}`);
    button.addEventListener("click", () => show(turn + 1));
    cell.replaceChildren(button);
  });
  panel.querySelector("[data-lens-rows]").style.setProperty("--turns", data.rewards.length);
}

function draw() {
  compute();
  for (const [name, row] of Object.entries(rows)) {
    const top = row ? Math.max(1e-9, ...row.map(Math.abs)) : 1;
    cells(name).forEach((cell, turn) => {
      if (row) bar(cell, row[turn], Math.abs(row[turn]) / top, signed(row[turn]));
      else cell.replaceChildren();
    });
    agree(name, row);
  }
  const found = [...truths.values()].flat().filter(Boolean);
  const top = Math.max(1e-9, ...found.map((truth) => Math.abs(truth.mean) + (truth.half ?? 0)));
  for (const truth of data.truths) {
    cells(`truth-${truth.id}`).forEach((cell, turn) => {
      const value = truths.get(truth.id)[turn];
      if (value) truthBar(cell, turn + 1, value, top);
      else waiting(cell, truth.open && turn + 1 >= truth.first && turn + 1 <= truth.last);
    });
  }
  const measured = reference();
  panel.querySelector("[data-agree-head]").textContent = `agrees with the truth${measured ? `, ${measured.agent}` : ""}`;
  const discount = Number(slider.value).toFixed(2);
  panel.querySelector("[data-discount]").textContent = discount;
  const csv = panel.querySelector("[data-csv]");
  csv.href = csv.href.replace(/discount=[^&]*/, `discount=${discount}`);
  for (const item of panel.querySelectorAll("[data-critic]")) item.hidden = (item.dataset.critic === "yes") === !rows.ppo;
  markTurns();
  tint();
  read();
}

function agree(name, row) {
  const place = panel.querySelector(`[data-agree="${name}"]`);
  const truth = reference();
  place.replaceChildren();
  if (!row) return add(place, "b", "no bars", name === "ppo" ? "needs a critic" : "needs a group");
  const found = truth && agreement(row, truths.get(truth.id));
  if (!found) return null;
  const signs = found.clear ? `sign right ${found.right} of ${found.clear}` : "no turn differs clearly";
  return add(place, "b", found.r === null ? "no r" : `r ${signed(found.r).replace("+", "")}`, found.r === null ? `the same for every turn; ${signs}` : signs);
}

function add(place, tag, strong, rest) {
  const head = document.createElement(tag);
  head.textContent = strong;
  place.append(head, rest);
}

/** The values by which the history is tinted, each with half of its interval if it has one. */
function tintValues() {
  const name = tintedBy.value;
  if (!name.startsWith("truth-")) return rows[name]?.map((value) => ({ mean: value, half: null })) ?? [];
  return truths.get(name.slice("truth-".length)) ?? [];
}

function tint() {
  const values = tintValues();
  const top = Math.max(1e-9, ...values.filter(Boolean).map((value) => Math.abs(value.mean)));
  data.rewards.forEach((_, turn) => {
    const item = document.getElementById(`t${turn + 1}`);
    const value = values[turn];
    const text = item.querySelector("[data-tinted]");
    item.dataset.tint = value ? level(value.mean, top, value.half) : 0;
    const number = document.createElement("b");
    number.textContent = value ? signed(value.mean) : "–";
    text.replaceChildren(number);
    if (value && value.half) add(text, "small", `± ${value.half.toFixed(2)}`, "");
  });
}

// ---------------------------------------------------------------- the turn shown

function at() {
  return Number(scrubber.value);
}

/** Show a turn as the scrubber does. */
function show(turn) {
  scrubber.value = turn;
  scrubber.dispatchEvent(new Event("input", { bubbles: true }));
}

function mark() {
  for (const cell of panel.querySelectorAll("[data-turn][aria-current]")) cell.removeAttribute("aria-current");
  for (const cell of panel.querySelectorAll(`[data-turn="${at()}"]`)) cell.setAttribute("aria-current", "step");
}

function read() {
  mark();
  const turn = at();
  const [place, note] = [document.querySelector("[data-reading]"), document.querySelector("[data-reading-note]")];
  if (!turn) {
    place.textContent = "Before the first turn there is nothing to give credit for.";
    note.textContent = "";
    return;
  }
  const truth = reference();
  const value = truth && truths.get(truth.id)[turn - 1];
  place.replaceChildren(`Turn ${turn}, “${data.names[turn - 1]}”, `, ...worth(value, truth), ...credits(turn - 1));
  note.textContent = value
    ? `True advantage: mean return of ${truth.count} continuations by ${truth.agent} after this turn, minus the mean of ${truth.count} in which it chose anew. γ ${Number(slider.value).toFixed(2)}.`
    : `γ ${Number(slider.value).toFixed(2)}.`;
}

/** What the turn was worth, in words that claim no more than the interval does. */
function worth(value, truth) {
  const [reward, togo] = [data.rewards[turnIndex()], rows.togo[turnIndex()]];
  if (!value) return ["earned ", strong(signed(reward)), "; the return from here on is ", strong(signed(togo)), ". What it was worth is not measured yet."];
  if (value.half === null) {
    if (Math.abs(value.mean) < 5e-4) return [`was exactly as good as what ${truth.agent} did here in all ${truth.count} tries: `, strong("0.00"), "."];
    const all = ": all continuations of each kind ended alike.";
    return [value.mean > 0 ? "was worth " : "cost ", strong(signed(value.mean)), all];
  }
  const figure = strong(`${signed(value.mean)} ± ${value.half.toFixed(2)}`);
  if (Math.abs(value.mean) <= value.half) return [`was about as good as what ${truth.agent} usually does here: `, figure, ", too close to zero to call."];
  return value.mean > 0 ? ["was worth ", figure, ` more than what ${truth.agent} usually does here.`] : ["cost ", figure, ` of the return that ${truth.agent} usually gets from here.`];
}

function turnIndex() {
  return Math.max(0, at() - 1);
}

function credits(turn) {
  const parts = [" "];
  for (const name of ["rebn", "grpo", "ppo"]) {
    if (!rows[name]) continue;
    parts.push(parts.length === 1 ? `${NAMES[name]} credits it with ` : `, ${NAMES[name]} with `, strong(signed(rows[name][turn])));
    if (name === "grpo" && data.rewards.length > 1) parts.push(" like every other turn");
  }
  return [...parts, "."];
}

function strong(text) {
  const element = document.createElement("b");
  element.textContent = text;
  return element;
}

/** Mark for the player the turns with a reward, and those that were clearly worse than what the agent usually does. */
function markTurns() {
  const player = scrubber.closest(".player");
  const turns = data.rewards.map((_, turn) => turn + 1);
  const truth = reference();
  const marked = {
    rewarded: turns.filter((turn) => data.rewards[turn - 1]),
    losses: truth ? turns.filter((turn) => isLoss(truths.get(truth.id)[turn - 1])) : [],
  };
  for (const [kind, found] of Object.entries(marked)) {
    player.dataset[kind] = found.join(" ");
    document.querySelector(`[data-jump="${kind}"]`).disabled = !found.length;
  }
}

function isLoss(value) {
  return value && value.mean < -5e-4 && -value.mean > (value.half ?? 0);
}

// ---------------------------------------------------------------- what happens

/** Fetch what was measured since, while something is measured. */
async function poll() {
  if (!data.truths.some((truth) => truth.open)) return;
  const response = await fetch(panel.dataset.address, { headers: { Accept: "application/json" } }).catch(() => null);
  const answer = response?.ok ? await response.json().catch(() => null) : null; // null where the body was cut
  if (answer) {
    const before = JSON.stringify(data.truths);
    data = answer;
    for (const truth of data.truths) progress(truth);
    if (JSON.stringify(data.truths) !== before) draw();
  }
  setTimeout(poll, POLL_MS);
}

function progress(truth) {
  const place = document.querySelector(`[data-progress="${truth.id}"]`);
  if (!place) return;
  place.querySelector("[data-words]").textContent = truth.words;
  const meter = place.querySelector("progress");
  if (meter) meter.value = Object.keys(truth.turns).length;
  if (!truth.open) {
    meter?.remove();
    place.querySelector("form")?.remove();
    const row = panel.querySelector(`[data-row="truth-${truth.id}"]`).closest(".lens-row");
    row.dataset.true = "";
    row.querySelector(".agree").textContent = "";
  }
}

slider.addEventListener("input", draw);
tintedBy.addEventListener("change", tint);
document.addEventListener("turn", read);

drawHead();
draw();
poll();
