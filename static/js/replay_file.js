// The player of a replay that was saved as one file: every turn is in it, so nothing is asked from a server.

import { jumps } from "./jumps.js";
import { toLastMessage } from "./messages.js";
import { transport } from "./transport.js";

const stored = new Map();
for (const frame of document.getElementById("frames").content.querySelectorAll("[data-frame]")) {
  stored.set(Number(frame.dataset.frame), frame);
}
const controls = document.querySelector(".player");
const lastTurn = Number(controls.dataset.turns);
let current = Number(controls.dataset.at);

function showTurn(turn) {
  current = Math.max(0, Math.min(lastTurn, turn));
  const frame = stored.get(current);
  const copies = (part) => [...frame.querySelector(`[data-part="${part}"]`).children].map((node) => node.cloneNode(true));
  document.querySelector("[data-player-board]").replaceChildren(...copies("board"));
  document.querySelector("[data-player-turn-text]").replaceChildren(...copies("turn"));
  document.querySelector("[data-player-total]").textContent = frame.dataset.total;
  for (const number of document.querySelectorAll("[data-player-at]")) number.textContent = current;
  controls.querySelector('input[type="range"]').value = current;
  toLastMessage();
}

transport(controls, { at: () => current, last: () => lastTurn, show: showTurn });
jumps(controls, { at: () => current, show: showTurn });
showTurn(current);
