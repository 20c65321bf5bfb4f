// The player of a replay: one number, the turn shown. The turns come in pieces of HTML that never change once the
// episode has ended; after that, going to a turn is swapping two nodes, without a request. The address follows.
// Keys: left and right arrow, Home, End, space.

import { toLastMessage } from "./messages.js";

const TURN_MS = 1000;
const ADDRESS_MS = 200;

const player = document.querySelector("[data-frames]");
const last = Number(player.dataset.turns);
const size = Number(player.dataset.chunk);
const { seat } = player.dataset; // from where it is seen, if there are several seats to choose from
const scrubber = player.querySelector('input[type="range"]');
const board = document.querySelector("[data-player-board]");
const text = document.querySelector("[data-player-turn-text]");
const frames = new Map();
const loading = new Map();

let at = Number(player.dataset.at);
let speed = 1;
let timer = null;
let addressTimer = null;

// ---------------------------------------------------------------- turns

/** Fetch the piece that holds `turn`, once. */
function load(turn) {
  const chunk = Math.floor(turn / size);
  if (!loading.has(chunk)) loading.set(chunk, fetchChunk(chunk).catch(() => loading.delete(chunk)));
  return loading.get(chunk);
}

async function fetchChunk(chunk) {
  const url = player.dataset.frames.replace(/0\/$/, `${chunk}/?v=${player.dataset.version}`) + (seat ? `&seat=${seat}` : "");
  const response = await fetch(url);
  if (!response.ok) throw new Error(`the turns could not be read: ${response.status}`);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const frame of page.querySelectorAll("[data-frame]")) {
    frames.set(Number(frame.dataset.frame), {
      total: frame.dataset.total,
      board: [...frame.querySelector('[data-part="board"]').children].map((node) => document.adoptNode(node)),
      text: [...frame.querySelector('[data-part="turn"]').children].map((node) => document.adoptNode(node)),
    });
  }
}

async function loadAll() {
  await load(at);
  for (let turn = 0; turn <= last; turn += size) await load(turn);
}

// ---------------------------------------------------------------- showing one

async function show(turn) {
  at = Math.max(0, Math.min(last, turn));
  scrubber.value = at;
  scrubber.setAttribute("aria-valuetext", `turn ${at} of ${last}`);
  for (const part of document.querySelectorAll("[data-player-at]")) part.textContent = at;
  if (!frames.has(at)) await load(at);
  const frame = frames.get(at);
  if (!frame || Number(scrubber.value) !== at) return;
  board.replaceChildren(...frame.board);
  toLastMessage();
  text.replaceChildren(...frame.text);
  document.querySelector("[data-player-total]").textContent = frame.total;
  mark();
  clearTimeout(addressTimer);
  addressTimer = setTimeout(follow, ADDRESS_MS);
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
}

/** The address, and the links and forms that are about this turn. */
function follow() {
  const page = (turn) => player.dataset.page.replace(/0\/$/, `${turn}/`);
  const query = seat ? `?seat=${seat}` : "";
  history.replaceState(history.state, "", page(at) + query);
  for (const field of document.querySelectorAll("[data-player-turn]")) field.value = at;
  const raw = document.querySelector("[data-player-json]");
  if (raw) raw.href = `${page(at)}raw.json${query}`;
  const share = document.querySelector("[data-copy^='http']");
  if (share) share.dataset.copy = location.href;
}

// ---------------------------------------------------------------- playing

const button = player.querySelector('[data-player="play"]');

function stop() {
  clearInterval(timer);
  timer = null;
  state("Play", "play", "polite");
}

function start() {
  if (at === last) show(0);
  timer = setInterval(() => (at < last ? show(at + 1) : stop()), TURN_MS / speed);
  state("Pause", "pause", "off");
}

function state(label, icon, live) {
  button.setAttribute("aria-label", label);
  const use = button.querySelector("use");
  use.setAttribute("href", use.getAttribute("href").replace(/#.*/, `#${icon}`));
  text.setAttribute("aria-live", live); // a playing replay would read out every turn
}

const acts = {
  first: () => show(0),
  prev: () => show(at - 1),
  play: () => (timer ? stop() : start()),
  next: () => show(at + 1),
  last: () => show(last),
};

// ---------------------------------------------------------------- hands

scrubber.addEventListener("input", () => show(Number(scrubber.value)));

player.querySelector("[data-player-speed]").addEventListener("change", (event) => {
  speed = Number(event.target.value);
  if (!timer) return;
  clearInterval(timer);
  start();
});

document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const act = event.target.closest("[data-player]");
  const row = event.target.closest("#turns a");
  const bar = event.target.closest("[data-strip]");
  if (!act && !row && !bar) return;
  event.preventDefault();
  if (act) acts[act.dataset.player]();
  else show(Number(bar ? bar.dataset.strip : row.textContent));
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (event.target.matches("input:not([type=range]), textarea, select")) return;
  if (event.key === " " && event.target.matches("button, a, summary")) return;
  const act = { ArrowLeft: "prev", ArrowRight: "next", Home: "first", End: "last", " ": "play" }[event.key];
  if (!act) return;
  event.preventDefault();
  acts[act]();
});

mark();
loadAll();
toLastMessage();
