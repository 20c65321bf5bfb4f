// A board to play on. Every input sends a text through the same field: a click sends the action of a cell, a right click,
// F or a long press its second action, a key of the pad its own action, and typed text is sent as it is.
// One cell is in the tab order, and focus stays on the same cell when a turn replaces the board.
// Without this script the cells and the pad are submit buttons of the form, so everything can still be played.

import { composer } from "./compose.js";
import { toLastMessage } from "./messages.js";
import { keepRowsOnce } from "./rows.js";

const MAX_QUEUED = 8;
const LONG_PRESS_MS = 450;
const OVERDUE_MS = 1_500;
const UNDONE = "undone";
const TYPED = "[data-say], [data-bench] :is(.cm-content, input, select, textarea)"; // where an action is typed
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const stage = document.getElementById("board") ?? document.querySelector("[data-acting]")?.closest(".stage");
const panel = stage?.parentElement;
const grid = () => panel?.querySelector("[data-acting]");
const field = () => document.querySelector("[data-say]");
const form = () => document.getElementById("say");

// ---------------------------------------------------------------- sending

const queue = [];
let busy = false;
let extra = null;
let sent = null; // the text of the turn that is on its way
let again = null; // a text for which Enter was pressed meanwhile
let hintIsDue = false; // a hint was asked for meanwhile
let awaited = null; // the seq of a turn that was played but not yet drawn by the socket
let overdue = null;

/** Whether a worker is playing the last turn. Turns of a slow environment arrive later, and only over the socket. */
const running = () => Boolean(document.getElementById("board")?.hasAttribute("data-pending"));

/** Whether it is somebody else's turn. The text then stays in the field. */
const waiting = () => Boolean(document.querySelector('#send [aria-disabled="true"]'));

/** Send `action` now, or after the current and the queued turns, so that quick key presses keep their order. */
function send(action) {
  if (busy || running() || queue.length) {
    if (queue.length < MAX_QUEUED) queue.push(action);
    return;
  }
  sendNow(action);
}

function sendNow(action) {
  field().value = action;
  form().requestSubmit();
}

/** Whether an action that is sent now would be refused or would overtake another one. */
const mustWait = () => busy || running() || waiting();

/** A control of the tool bench has written an action. */
document.addEventListener("say:send", ({ detail }) => {
  if (field() && !running() && !waiting()) sendNow(detail);
});

/**
 * What was typed is sent by enter.js or by the button. If it must wait, it stays in the field, and is sent as soon as the
 * turn on its way is drawn, unless it was changed. Pressing Enter twice sends once.
 */
document.addEventListener("submit", (event) => {
  if (event.target !== form() || !mustWait()) return;
  again = busy && !waiting() && field().value !== sent ? field().value : null;
  extra = null;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);

/** Whether actions go through the field. On other pages (home) a cell is an ordinary submit button. */
const sends = () => Boolean(field() && form());

document.addEventListener("htmx:configRequest", (event) => {
  if (event.detail.elt !== form()) return;
  if (form().closest("[data-live]")) event.detail.headers["Live-Page"] = "1"; // the socket will bring the turn
  delete event.detail.parameters.act; // the button that was pressed last; its action is in the field
  if (extra) event.detail.parameters[extra.name] = extra.value;
  extra = null;
  sent = event.detail.parameters.action;
});

document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.elt === form()) busy = true;
  else if (event.detail.elt.matches("[data-hint-button]") && (busy || running())) {
    hintIsDue = true;
    event.preventDefault();
  }
});

document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.elt.id !== "say") return;
  const { xhr } = event.detail;
  if (![200, 202, 204].includes(xhr.status)) { // the turn was refused, so the text stays
    forget();
    busy = false;
    return;
  }
  const text = field();
  if (text) {
    if (text.value === sent) text.value = "";
    if (!document.querySelector("[data-messages], [data-bench]")) text.placeholder = sent; // a conversation shows the message itself
  }
  awaited = Number(xhr.getResponseHeader("Episode-Seq"));
  overdue = setTimeout(() => document.dispatchEvent(new Event("live:overdue")), OVERDUE_MS);
  goOn();
});

/** What waited assumed that the turn was played. */
function forget() {
  queue.length = 0;
  again = null;
  hintIsDue = false;
}

/** Do what waited as soon as the last turn is drawn. */
function goOn() {
  if (awaited !== null && shown() >= awaited) {
    awaited = null;
    clearTimeout(overdue);
    busy = false;
  }
  if (document.querySelector("#notice [data-problem]")) forget();
  setTimeout(doNext, 0);
}

function doNext() {
  if (busy || running() || !sends()) return;
  if (queue.length) sendNow(queue.shift());
  else if (again !== null) {
    if (field().value === again) form().requestSubmit();
    again = null;
  } else if (hintIsDue) {
    hintIsDue = false;
    document.querySelector("[data-hint-button]")?.click();
  }
}

const composing = composer({ panel, field, send, ready: sends });

// A turn arrives over the socket or, if no socket is open, as the response. If both arrive, in either order, the board is
// drawn once.

const SEQ = /data-seq="(\d+)"/;
const shown = () => Number(document.getElementById("board")?.dataset.seq);

document.addEventListener("htmx:beforeSwap", (event) => {
  const { requestConfig, xhr } = event.detail;
  const seq = SEQ.exec(xhr.responseText);
  // a hint for a board that the socket has still to bring: drawing it would make the event look superfluous
  if (requestConfig.elt.matches("[data-hint-button]") && seq && Number(seq[1]) !== shown()) event.detail.shouldSwap = false;
  if (requestConfig.elt.id === "say" && [200, 202].includes(xhr.status) && seq && Number(seq[1]) <= shown()) {
    event.detail.shouldSwap = false;
  }
});

document.addEventListener("htmx:wsBeforeMessage", (event) => {
  const seq = SEQ.exec(event.detail.message);
  if (seq && Number(seq[1]) <= shown()) event.preventDefault();
});

// ---------------------------------------------------------------- mouse and touch

let flagging = false;
let pressed = null;
let skipClick = false;

document.addEventListener("click", (event) => {
  const flag = event.target.closest("[data-flag-mode]");
  if (flag) {
    flagging = !flagging;
    flag.setAttribute("aria-pressed", String(flagging));
    return;
  }
  const button = event.target.closest('button[form="say"]');
  if (!button || !sends()) return;
  if (button.name !== "act") {
    extra = { name: button.name, value: button.value };
    return;
  }
  event.preventDefault();
  if (skipClick) {
    skipClick = false;
    return;
  }
  send((flagging && button.dataset.alt) || button.value);
});

document.addEventListener("contextmenu", (event) => {
  const cell = event.target.closest("button[data-alt]");
  if (!cell || !sends()) return;
  event.preventDefault();
  if (pressed === null) send(cell.dataset.alt);
});

document.addEventListener("pointerdown", (event) => {
  const cell = event.target.closest("button[data-alt]");
  skipClick = false;
  if (!cell || event.pointerType === "mouse" || !sends()) return;
  pressed = setTimeout(() => {
    skipClick = true;
    navigator.vibrate?.(15);
    send(cell.dataset.alt);
  }, LONG_PRESS_MS);
});

for (const name of ["pointerup", "pointercancel", "pointermove"]) {
  document.addEventListener(name, (event) => {
    if (name === "pointermove" && Math.hypot(event.movementX, event.movementY) < 4) return;
    clearTimeout(pressed);
    pressed = null;
  });
}

// ---------------------------------------------------------------- keyboard

/** On the first focus, put the caret between the fences of an empty program. */
function beginProgram(target) {
  if (target !== field() || !target.hasAttribute("data-lines") || target.dataset.begun) return false;
  target.dataset.begun = "1";
  const gap = target.value.indexOf("\n\n") + 1;
  if (gap) target.setSelectionRange(gap, gap);
  return gap > 0;
}

document.addEventListener("focusin", ({ target }) => beginProgram(target));

/** A program that is pasted with its fences replaces the empty fences. */
document.addEventListener("paste", ({ target, clipboardData }) => {
  if (target !== field() || !target.hasAttribute("data-lines")) return;
  const empty = target.value.replace(/\s/g, "") === "```python```";
  if (empty && clipboardData.getData("text").includes("```")) target.setSelectionRange(0, target.value.length);
});

document.addEventListener("mousedown", (event) => {
  if (!beginProgram(event.target)) return;
  event.preventDefault(); // otherwise the browser puts the caret at the pointer
  event.target.focus();
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.matches("input, textarea, select, [contenteditable], summary")) return;
  const onBoard = panel?.contains(event.target);
  if (!onBoard && event.target !== document.body) return;
  if (pressKey(event, onBoard)) event.preventDefault();
});

/** Whether the key did something. */
function pressKey(event, onBoard) {
  const cell = event.target.closest?.(".cell");
  if (composing.press(event, cell)) return true;
  const key = [...(panel?.querySelectorAll("[data-key]") ?? [])].find((button) => button.dataset.key === event.key);
  if (key && sends()) {
    send(key.value);
    return true;
  }
  if (cell && STEPS[event.key]) return move(cell, STEPS[event.key]);
  if (!onBoard && STEPS[event.key] && grid() && sends()) return focusCell();
  const letter = event.key.toLowerCase();
  if (letter === "f" && cell?.dataset.alt && sends()) {
    send(cell.dataset.alt);
    return true;
  }
  const shortcut = { "?": "[data-hint-button]", h: "[data-hint-button]", u: "[data-undo]" }[letter]; // on some boards H is a pick
  const button = shortcut && document.querySelector(shortcut);
  button?.click();
  return Boolean(button);
}

// ---------------------------------------------------------------- one cell in the tab order

let at = null; // row and column of the cell in the tab order
let focused = false;
let held = null; // the element that had the focus last

const rows = () => [...(grid()?.querySelectorAll('[role="row"]') ?? [])].map((row) => [...row.querySelectorAll(".cell")]);

function move(cell, [down, right]) {
  const cells = rows();
  const row = cells.findIndex((candidates) => candidates.includes(cell));
  if (row < 0) return false;
  const column = cells[row].indexOf(cell);
  cells[row + down]?.[column + right]?.focus();
  return true;
}

/** The row and column of the first cell that `matches`, or null. */
function placeOf(cells, matches) {
  for (const [row, line] of cells.entries()) {
    const column = line.findIndex(matches);
    if (column >= 0) return [row, column];
  }
  return null;
}

function focusCell() {
  rows()[at?.[0]]?.[at[1]]?.focus();
  return true;
}

document.addEventListener("focusin", (event) => {
  held = event.target;
  const cell = event.target.closest?.("[data-acting] .cell");
  focused = Boolean(cell);
  if (!cell) return;
  const cells = rows();
  const row = cells.findIndex((candidates) => candidates.includes(cell));
  if (row < 0) return;
  at = [row, cells[row].indexOf(cell)];
  rove(cells);
});

function rove(cells) {
  for (const cell of cells.flat()) cell.tabIndex = -1;
  const here = cells[at[0]]?.[at[1]] ?? cells[0]?.[0];
  if (here) here.tabIndex = 0;
}

// ---------------------------------------------------------------- after a turn

const { title } = document;

/** In an episode with several seats, the page title says when it is the reader's turn, so that other tabs show it. */
function sayWhoseTurn() {
  if (!document.querySelector("#scoreline .seats")) return;
  document.title = document.querySelector('#scoreline [data-turn="yours"]') ? `Your turn · ${title}` : title;
}

/** A turn removed the element with the focus: the last turn the field and the cells, every turn the hint. */
function goOnFrom(gone) {
  const end = document.querySelector("#end section");
  if (end) end.focus({ preventScroll: true });
  else if (gone.matches("[data-do-hint]")) document.querySelector("[data-hint-button]")?.focus({ preventScroll: true });
}

/** Whether anybody watches; without anybody the page says nothing. */
function sayWhoWatches() {
  const watched = document.querySelector("[data-watched]");
  if (watched) watched.hidden = !/[1-9]/.test(watched.textContent);
}

function drawn() {
  goOn();
  sayWhoWatches();
  sayWhoseTurn();
  toLastMessage();
  composing.drawn();
  if (document.activeElement === document.body && held && !held.isConnected) goOnFrom(held);
  const cells = rows();
  if (!cells.length) return;
  const player = placeOf(cells, (cell) => "player" in cell.dataset); // who walks takes the focus along
  const moved = at && player && String(at) !== String(player);
  at = player ?? at ?? placeOf(cells, (cell) => cell.tabIndex === 0) ?? [0, 0];
  rove(cells);
  if (focused && (moved || document.activeElement === document.body)) focusCell();
  const alt = grid().querySelector("[data-alt]");
  const flag = document.querySelector("[data-flag-mode]");
  if (flag && alt) {
    flag.hidden = !matchMedia("(pointer: coarse)").matches;
    flag.lastChild.textContent = `Press to ${/\{\s*(\w+)/.exec(alt.dataset.alt)?.[1] ?? "do the other"}`;
  }
}

/**
 * Undo opens the page of another episode: the cell that had the focus last is noted for it. It is noted before the request,
 * because the socket may bring news that replace the form before the answer is there.
 */
document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  if (!detail.elt.querySelector("[data-undo]")) return;
  sessionStorage.setItem(UNDONE, JSON.stringify({ from: location.href, at }));
});

/** After Undo the focus is where the next action is chosen or typed. */
function goOnAfterUndo() {
  const undone = JSON.parse(sessionStorage.getItem(UNDONE));
  sessionStorage.removeItem(UNDONE);
  if (!undone || undone.from !== document.referrer) return;
  at = undone.at;
  if (rows()[at?.[0]]?.[at[1]]) focusCell();
  else [...document.querySelectorAll(TYPED)].find((place) => place.checkVisibility())?.focus({ preventScroll: true });
}

if (panel) {
  document.addEventListener("htmx:wsAfterMessage", drawn);
  document.addEventListener("htmx:afterRequest", drawn);
  drawn();
  addEventListener("load", goOnAfterUndo); // when the editor of a program is there
}
keepRowsOnce();
