// Episodes side by side, with one scrubber for all boards. At its end the page is live. Before the end all boards show the
// same turn; an episode that ended earlier shows its last turn. Live turns that arrive meanwhile extend the scrubber.

import { Frames } from "./frames.js";
import { transport } from "./transport.js";

const ADDRESS_MS = 200;

const player = document.querySelector(".player");
const scrubber = player.querySelector('input[type="range"]');
const sections = () => [...document.querySelectorAll(".duel-agent[data-slot]")];
const state = () => document.getElementById("show-state");
const counts = () => state().dataset.counts.trim().split(" ").map(Number);
const last = () => Math.max(...counts());
const ended = () => state().hasAttribute("data-ended");

const frames = new Map();
let at = Number(player.dataset.at);
let following = !("past" in player.dataset);
let covered = Boolean(document.querySelector(".duel-page[data-covered]"));
let addressTimer = null;

function framesOf(section) {
  const { frames: address, slot } = section.dataset;
  if (!frames.has(slot)) {
    frames.set(slot, new Frames(address, Number(player.dataset.chunk), `?v=${player.dataset.version}-${counts()[slot]}`));
  }
  return frames.get(slot);
}

// ---------------------------------------------------------------- one turn on all boards

function show(turn) {
  at = Math.max(0, Math.min(last(), turn));
  following = at === last();
  draw();
  clearTimeout(addressTimer);
  addressTimer = setTimeout(follow, ADDRESS_MS);
}

function draw() {
  scrubber.max = last();
  scrubber.value = at;
  scrubber.setAttribute("aria-valuetext", `turn ${at} of ${last()}`);
  for (const part of document.querySelectorAll("[data-player-at]")) part.textContent = at;
  document.querySelector("[data-player-live]").textContent = following && !ended() ? ", live" : ` of ${last()}`;
  for (const link of document.querySelectorAll("[data-goto]")) {
    if (Number(link.dataset.goto) === at) link.setAttribute("aria-current", "step");
    else link.removeAttribute("aria-current");
  }
  for (const section of sections()) drawSide(section);
}

async function drawSide(section) {
  const turn = Math.min(at, counts()[section.dataset.slot]);
  const [number, total] = ["[data-side-turn]", "[data-side-total]"].map((part) => section.querySelector(part));
  if (following) {
    if ("showing" in section.dataset && number) {
      number.textContent = turn;
      total.textContent = section.dataset.total;
    }
    delete section.dataset.showing;
    return;
  }
  const own = framesOf(section);
  const frame = own.get(turn) ?? (await own.find(turn));
  const now = document.querySelector(`.duel-agent[data-slot="${section.dataset.slot}"]`); // a live event may have replaced the section
  if (!frame || !now || following || turn !== Math.min(at, counts()[now.dataset.slot])) return;
  const set = (part, text) => now.querySelector(part) && (now.querySelector(part).textContent = text);
  now.querySelector("[data-past]").replaceChildren(...frame.board);
  set("[data-side-turn]", turn);
  set("[data-side-total]", shortened(frame.total));
  now.dataset.showing = "past";
}

/** A total with two decimals, as the live board shows it. */
const shortened = (text) => text.replace(/(\.\d\d)\d+$/, "$1");

function follow() {
  const address = following ? location.pathname : `${location.pathname}?turn=${at}`;
  history.replaceState(history.state, "", address);
  const share = document.querySelector("[data-copy^='http']");
  if (share) share.dataset.copy = location.href;
}

transport(player, {
  at: () => at,
  last,
  show,
  keys: () => !document.querySelector("[data-acting]"), // otherwise the keys belong to the board
});

document.addEventListener("click", (event) => {
  const goTo = event.target.closest("[data-goto]");
  if (!goTo || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  show(Number(goTo.dataset.goto));
});

// ---------------------------------------------------------------- live events

document.addEventListener("htmx:wsAfterMessage", () => {
  if (following) at = last();
  draw();
  for (const line of document.querySelectorAll(".arrows")) if (following) line.scrollLeft = line.scrollWidth;
  for (const button of document.querySelectorAll("[data-step]")) {
    const locked = state().hasAttribute("data-lock-step");
    button.setAttribute("aria-pressed", String((button.dataset.step === "lock-step") === locked));
  }
  if (document.querySelector(".duel[data-acted]") && !document.querySelector("[data-acting]")) cover(false);
});

// ---------------------------------------------------------------- covering the other boards

function cover(is) {
  covered = is;
  document.querySelector(".duel-page").toggleAttribute("data-covered", is);
  const button = document.querySelector("[data-cover]");
  button?.setAttribute("aria-pressed", String(is));
}

document.querySelector("[data-cover]")?.addEventListener("click", () => cover(!covered));

if (following) draw();
