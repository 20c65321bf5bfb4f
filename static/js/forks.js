// The page of a tree: the line that shows the turn of the player, the slider under the drawing, and the words and the
// command of the form, which follow what is chosen.

const THUMB = 16;
const player = document.querySelector(".metro-player");
const scrubber = document.getElementById("scrub");
const form = document.querySelector("[data-go-on]");

/** Move the line of the turn in both drawings, and put the slider under the turns that it goes through. */
function place() {
  const turn = Number(scrubber.value);
  for (const metro of document.querySelectorAll("[data-metro]")) {
    const { metro: direction, first, step, turns } = metro.dataset;
    const at = Number(first) + turn * Number(step);
    const [line, text] = metro.querySelector("[data-here]").children;
    text.textContent = turn;
    if (direction === "across") {
      for (const end of ["x1", "x2"]) line.setAttribute(end, at);
      text.setAttribute("x", at);
      text.setAttribute("y", 30);
      text.setAttribute("dx", 10);
      under(metro, Number(first), Number(turns) * Number(step));
    } else {
      for (const end of ["y1", "y2"]) line.setAttribute(end, at);
      text.setAttribute("x", 32);
      text.setAttribute("y", at - 4);
    }
  }
}

/** The slider begins and ends where the first and the last turn of this episode are. */
function under(metro, first, length) {
  const share = (pixels) => `${(100 * pixels) / metro.viewBox.baseVal.width}%`;
  player.style.setProperty("--from", `calc(${share(first)} - ${THUMB / 2}px)`);
  player.style.setProperty("--span", `calc(${share(length)} + ${THUMB}px)`);
}

const takes = JSON.parse(document.getElementById("takes").textContent);

/** What the continuations will take, by the episodes that this agent has played before; empty if there are none. */
function estimate(agent, count) {
  const known = takes[agent];
  if (!known) return "";
  const turns = Math.max(1, known.turns - Number(scrubber.value));
  const about = (number) => Number(number.toPrecision(2)).toLocaleString("en");
  const parts = [`${about(turns)} turn${about(turns) === "1" ? "" : "s"}${count > 1 ? " each" : ""}`];
  if (known.seconds) parts.push(`${about(turns * known.seconds)} s${count > 1 ? " each" : ""}`);
  if (known.tokens) parts.push(`${about((count * known.tokens * turns) / Math.max(known.turns, turns))} tokens`);
  const from = known.episodes === 1 ? "one episode" : `${known.episodes} episodes`;
  return `About ${parts.join(", ")}, from ${from} of this agent here.`;
}

/** What the button and the command say; at the end of an episode nobody can continue, so there is no command. */
function say() {
  const chosen = new FormData(form);
  const agent = chosen.get("agent") === "other" ? chosen.get("other") : chosen.get("agent");
  const count = Number(chosen.get("count"));
  const times = count === 1 ? "once" : `${count} times`;
  form.querySelector("[data-go-on-words]").textContent = agent === "you" ? "Play on from here" : `Continue ${times}`;
  const more = agent === "you" ? "" : ` --agent ${agent}${count === 1 ? "" : ` --count ${count}`}`;
  const command = `gemweb fork ${form.dataset.id} ${scrubber.value}${more}`;
  form.querySelector("[data-takes]").textContent = estimate(agent, count);
  const isOver = scrubber.value === form.dataset.last;
  form.querySelector("button[type=submit]").disabled = isOver;
  form.querySelector("[data-at-the-end]").hidden = !isOver;
  document.querySelector("[data-command-foot]").hidden = isOver;
  document.querySelector("[data-command]").textContent = command;
  document.querySelector("[data-command-copy]").dataset.copy = command;
}

function follow() {
  place();
  say();
}

// A running branch changes the table: what was chosen in it stays chosen.
let chosen = [];
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  if (event.detail.target.id === "ends") chosen = [...document.querySelectorAll('[name="end"]:checked')].map((box) => box.value);
});
document.addEventListener("htmx:oobAfterSwap", (event) => {
  if (event.detail.target.id !== "ends") return; // another part, which leaves the table and what is chosen as they are
  for (const box of document.querySelectorAll('[name="end"]')) box.checked = chosen.includes(box.value);
});

document.addEventListener("turn", follow);
document.addEventListener("htmx:afterSettle", place);
form.addEventListener("change", say);
follow();
