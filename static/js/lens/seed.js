// All episodes of one seed: the tint of every turn follows the discount and the choice of what tints.

import { grpo, level, moments, normalized, returnsToGo, signed, trueAdvantage } from "./credit.js";

const panel = document.querySelector("[data-heat]");
const slider = panel.querySelector("#gamma");
const tintedBy = panel.querySelector("[data-tinted-by]");
const episodes = JSON.parse(document.getElementById("heat-data").textContent);

/** For each episode the value of each turn, with half of its interval if it has one; null where there is none. */
function values(name, discount) {
  const rewards = episodes.map((episode) => episode.rewards);
  if (name === "truth") return episodes.map(({ rewards: own, truth }) => own.map((_, turn) => truth[turn + 1] && trueAdvantage(truth[turn + 1], discount)));
  if (name === "grpo") return rewards.map((own, at) => plain(grpo(own, rewards.filter((_, other) => other !== at)) ?? own.map(() => 0)));
  if (name === "reward") return rewards.map(plain);
  const togo = rewards.map((own) => returnsToGo(own, discount));
  if (name === "togo") return togo.map(plain);
  const batch = moments(togo.flat());
  return togo.map((own) => plain(normalized(own, batch)));
}

function plain(row) {
  return row.map((mean) => ({ mean, half: null }));
}

function draw() {
  const discount = Number(slider.value);
  const found = values(tintedBy.value, discount);
  const top = Math.max(1e-9, ...found.flat().filter(Boolean).map((value) => Math.abs(value.mean)));
  panel.querySelector("[data-discount]").textContent = discount.toFixed(2);
  found.forEach((row, at) => {
    [...panel.querySelector(`[data-cells="${at}"]`).children].forEach((cell, turn) => {
      const value = row[turn];
      cell.dataset.tint = value ? level(value.mean, top, value.half) : 0;
      cell.textContent = value ? signed(value.mean, 1) : "–";
      const label = cell.getAttribute("aria-label").replace(/(turn \d+), .*/, "$1");
      cell.setAttribute("aria-label", `${label}, ${value ? signed(value.mean) : "not measured"}`);
    });
  });
}

slider.addEventListener("input", draw);
tintedBy.addEventListener("change", draw);
draw();
