// Actions made of several picks: a cell and a number, the two ends of a word, the letters of a guess. The element with
// data-compose describes the picks and how their parts are joined. Elements with data-part can be picked by a click or, if
// they are keys, by the keyboard. The field shows the partial action. Without this script, the action is typed.

/** `panel` holds the board, `field()` returns the text field, `send(action)` plays a turn if `ready()`. */
export function composer({ panel, field, send, ready }) {
  let picked = []; // the picked elements, in order

  const rules = () => panel?.querySelector("[data-compose]");
  const picks = () => rules().dataset.picks.split(" ");
  const isComplete = () => picked.length === picks().length;
  const isEnough = () => picked.length >= Number(rules().dataset.fewest ?? picks().length);

  function action() {
    const { before, between, after } = rules().dataset;
    return before + picked.map((element) => element.dataset.part).join(between) + after;
  }

  /** Add a pick. A second place, where a key is due, replaces the first one. A pick that is not due is ignored. */
  function pick(element) {
    const due = picks()[picked.length];
    const kind = element.dataset.pick;
    if (kind === "place" && picked.at(-1) === element) { // picked again: take it back
      picked.pop();
      show();
      return;
    }
    if (due === "key" && kind === "place" && picked.at(-1)?.dataset.pick === "place") picked.pop();
    if (picks()[picked.length] !== kind) return;
    picked.push(element);
    if (isComplete() && !("confirm" in rules().dataset)) finish();
    else show();
  }

  function clear() {
    picked = [];
    show();
  }

  function finish() {
    const whole = action();
    clear();
    send(whole);
  }

  function takeBack() {
    picked.pop();
    show();
  }

  /** Show the picks on the board, in the field and in the prompt. */
  function show() {
    if (!rules()) return;
    for (const element of panel.querySelectorAll("[data-pick]")) {
      const state = element.closest('[role="grid"]') ? "aria-selected" : "aria-pressed";
      if (element.dataset.pick === "place") element.setAttribute(state, String(picked.includes(element)));
    }
    for (const [index, slot] of panel.querySelectorAll("[data-slot]").entries()) {
      slot.textContent = picked[index]?.dataset.part ?? "";
    }
    const { before, between, after, prompts } = rules().dataset;
    const parts = picked.map((element) => element.dataset.part);
    if (field()) field().value = parts.length ? before + parts.join(between) + (isEnough() ? after : between) : "";
    const prompt = panel.querySelector("[data-prompt]");
    const words = prompts.split("|");
    prompt.textContent = isComplete() ? "Press Enter to send" : (words[picked.length] ?? words.at(-1));
  }

  panel?.addEventListener("mousedown", (event) => {
    if (event.target.closest(".key")) event.preventDefault(); // keeps the focus, so that Enter sends the action instead of pressing the key again
  });

  panel?.addEventListener("click", (event) => {
    const element = event.target.closest("[data-part]");
    if (element && rules() && ready()) pick(element);
    const does = event.target.closest("[data-does]")?.dataset.does;
    if (!does || !rules() || !ready()) return;
    if (does === "delete") takeBack();
    else if (isEnough()) finish();
  });

  return {
    /** Handle a key press; returns whether it was part of the action. `cell` is the focused cell, if any. */
    press(event, cell) {
      if (!rules() || !ready()) return false;
      const { key } = event;
      if (key === "Enter" && isEnough() && !event.target.closest("[data-does]")) {
        finish();
        return true;
      }
      if (key === "Escape" || key === "Backspace") {
        if (!picked.length) return false;
        if (key === "Escape") picked = [];
        else picked.pop();
        show();
        return true;
      }
      const button = [...panel.querySelectorAll("[data-cap]")].find(
        (candidate) => candidate.dataset.cap.toLowerCase() === key.toLowerCase(),
      );
      if (!button) return false;
      if (button.dataset.part === undefined) button.click();
      else {
        if (cell?.dataset.part && picks()[picked.length] === "place") pick(cell);
        else if (cell?.dataset.part && picked.at(-1) !== cell && picked.at(-1)?.dataset.pick === "place") pick(cell);
        pick(button);
      }
      return true;
    },

    /** Reset the picks after the board was redrawn. */
    drawn() {
      picked = [];
      const prompt = panel?.querySelector("[data-prompt]");
      if (prompt && rules()) prompt.textContent = rules().dataset.prompts.split("|")[0];
    },
  };
}
