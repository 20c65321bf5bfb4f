// The player of a replay. Its state is one number, the turn that is shown. Showing a turn swaps two nodes without a
// request, and the address follows.

import { Frames } from "./frames.js";
import { toLastMessage } from "./messages.js";
import { transport } from "./transport.js";
import { jumps } from "./jumps.js";

const ADDRESS_MS = 200;

const player = document.querySelector("[data-frames]");
const last = Number(player.dataset.turns);
const size = Number(player.dataset.chunk);
const { seat } = player.dataset; // the viewpoint, if there are several seats to choose from
const scrubber = player.querySelector('input[type="range"]');
const board = document.querySelector("[data-player-board]");
const text = document.querySelector("[data-player-turn-text]");
const frames = new Frames(player.dataset.frames, size, `?v=${player.dataset.version}${seat ? `&seat=${seat}` : ""}`);

let at = Number(player.dataset.at);
let shown = at; // differs from `at` while a turn is fetched
let isMissing = false; // the last turn that was asked for could not be fetched
let addressTimer = null;

async function loadAll() {
  await frames.load(at);
  for (let turn = 0; turn <= last; turn += size) await frames.load(turn);
}

// ---------------------------------------------------------------- showing a turn

async function show(turn) {
  name(Math.max(0, Math.min(last, turn)));
  if (!frames.get(at)) await frames.load(at);
  const frame = frames.get(at);
  if (!frame) stay();
  if (!frame || Number(scrubber.value) !== at) return;
  board.replaceChildren(...frame.board);
  toLastMessage();
  text.replaceChildren(...frame.text);
  const total = document.querySelector("[data-player-total]");
  if (total) total.textContent = frame.total;
  shown = at;
  isMissing = false;
  mark();
  clearTimeout(addressTimer);
  addressTimer = setTimeout(follow, ADDRESS_MS);
}

/** Say that a turn is shown. */
function name(turn) {
  at = turn;
  scrubber.value = at;
  scrubber.setAttribute("aria-valuetext", `turn ${at} of ${last}`);
  for (const part of document.querySelectorAll("[data-player-at]")) part.textContent = at;
}

/** The turn could not be fetched: the one before it is still shown, and the page says so once. */
function stay() {
  const missing = at;
  name(shown);
  if (isMissing) return;
  isMissing = true;
  const detail = `Turn ${missing} could not be fetched, so turn ${shown} is still shown. Try again.`;
  document.dispatchEvent(new CustomEvent("page:say", { detail }));
}

function mark() {
  const list = document.getElementById("turns");
  for (const item of document.querySelectorAll("#turns li[aria-current], [data-strip][aria-current]")) {
    item.removeAttribute("aria-current");
  }
  const row = document.getElementById(`t${at}`);
  row?.setAttribute("aria-current", "step");
  if (row && list.scrollHeight > list.clientHeight) {
    list.scrollTop = row.offsetTop - list.offsetTop - list.clientHeight / 2;
  }
  document.querySelector(`[data-strip="${at}"]`)?.setAttribute("aria-current", "step");
  document.dispatchEvent(new Event("turn"));
}

/** Update the address and the links and forms that depend on the turn. A replay within another page has no address. */
function follow() {
  if (!player.dataset.page) return;
  const page = (turn) => player.dataset.page.replace(/0\/$/, `${turn}/`);
  const query = seat ? `?seat=${seat}` : "";
  history.replaceState(history.state, "", page(at) + query);
  for (const field of document.querySelectorAll("[data-player-turn]")) field.value = at;
  for (const link of document.querySelectorAll("[data-turn-page]")) link.href = link.dataset.turnPage.replace(/0\/$/, `${at}/`);
  const raw = document.querySelector("[data-player-json]");
  if (raw) raw.href = `${page(at)}raw.json${query}`;
  for (const shared of document.querySelectorAll("[data-share-turn]")) {
    if (shared.dataset.copy) shared.dataset.copy = location.href;
    else shared.value = location.href;
  }
  for (const number of document.querySelectorAll("[data-share-number]")) number.textContent = at;
}

// ---------------------------------------------------------------- controls

transport(player, {
  at: () => at,
  last: () => last,
  show,
  playing: (is) => text.setAttribute("aria-live", is ? "off" : "polite"), // otherwise a screen reader would announce every turn
});

jumps(player, { at: () => at, show });

document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const row = event.target.closest("#turns a");
  const bar = event.target.closest("[data-strip]");
  if (!row && !bar) return;
  event.preventDefault();
  show(Number(bar ? bar.dataset.strip : row.textContent));
});

mark();
loadAll();
toLastMessage();
