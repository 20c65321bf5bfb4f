// The tool bench: each control writes its action, letter by letter as an agent would send it, into the field of the board's
// form, and its button sends it. What is in the field can be read and changed before.

const bench = document.querySelector("[data-bench]");
const field = () => document.querySelector("[data-say]");
const controls = bench?.querySelector("[data-controls]");

// ---------------------------------------------------------------- from fields to actions

/** The value of one argument as JSON has it; undefined if it is left out. */
function valueOf(input) {
  const { type } = input.dataset;
  if (input.value === "") return undefined;
  if (type === "string") return input.value;
  if (type === "integer" || type === "number") return Number(input.value);
  return JSON.parse(input.value); // a choice, or a value that is typed as JSON
}

/** The action of a control with what is typed so far. */
function action(control) {
  const { before, after, style } = control.dataset;
  const pairs = [];
  for (const input of control.querySelectorAll("[data-arg]")) {
    try {
      const value = valueOf(input);
      input.setCustomValidity("");
      if (value !== undefined) pairs.push([input.dataset.arg, value]);
    } catch {
      input.setCustomValidity('This is not JSON. A text stands in quotation marks: "red".');
      pairs.push([input.dataset.arg, input.value]);
    }
  }
  if (style === "json") return before + JSON.stringify(Object.fromEntries(pairs)) + after;
  if (style === "pairs") return before + pairs.map(([name, value]) => ` ${name}=${value}`).join("") + after;
  return before + (pairs[0]?.[1] ?? "") + after;
}

/** Show the action of a control in the field, and how many arguments are still wrong. */
function write(control) {
  if (!field()) return;
  field().value = action(control);
  const wrong = control.querySelectorAll(":invalid").length;
  const said = control.querySelector("[data-wrong]");
  if (said) said.textContent = wrong ? `${wrong} to fill in or correct` : "";
}

controls?.addEventListener("input", (event) => write(event.target.closest("[data-control]")));
controls?.addEventListener("focusin", (event) => {
  const control = event.target.closest("[data-control]");
  const isTyped = control && [...control.querySelectorAll("[data-arg]")].some((input) => input.value);
  if (isTyped) write(control);
});

controls?.addEventListener("submit", (event) => {
  event.preventDefault();
  const control = event.target;
  write(control);
  if (control.dataset.control === "code" && !control.querySelector("[data-code]").value.trim()) return;
  document.dispatchEvent(new CustomEvent("say:send", { detail: action(control) }));
  const typed = control.querySelector(".ask input");
  if (typed) typed.select();
});

// ---------------------------------------------------------------- one form at a time

controls?.addEventListener("click", (event) => {
  const pick = event.target.closest("[data-shows]");
  if (!pick) return;
  for (const other of controls.querySelectorAll("[data-shows]")) {
    const isChosen = other === pick;
    other.setAttribute("aria-pressed", String(isChosen));
    document.getElementById(other.dataset.shows).hidden = !isChosen;
  }
  write(document.getElementById(pick.dataset.shows));
});

// ---------------------------------------------------------------- a program on the tests that its problem shows

controls?.addEventListener("click", (event) => {
  const trial = event.target.closest("[data-trial]");
  if (!trial) return;
  const program = trial.closest("form").querySelector("[data-code]").value;
  if (!program.trim()) return;
  const place = { source: "#trial", target: "#trial", swap: "innerHTML" };
  window.htmx.ajax("POST", trial.dataset.trial, { ...place, values: { program } });
});

if (controls) controls.hidden = false;

/** The newest answer of a tool is in view. */
function toLastCell() {
  const last = bench?.querySelector(".nb:last-child");
  if (last && last.id !== shown) last.scrollIntoView({ block: "nearest" });
  shown = last?.id;
}

let shown = bench?.querySelector(".nb:last-child")?.id;

/** A turn was drawn. After the last one there is no field any more, and nothing to send. */
function drawn() {
  if (!field()) controls?.remove();
  toLastCell();
}

for (const name of ["htmx:wsAfterMessage", "htmx:afterRequest"]) {
  document.addEventListener(name, drawn, { capture: true }); // before board.js looks where the focus is
}
