// Actions made of several picks: a cell and a number, the two ends of a word, the letters of a guess. The page says in
// data-compose what is picked and how the parts are joined; whatever has a data-part can be picked, by a click or, if
// it is a key, by the keyboard. The field shows the action as far as it has come. Without this script it is typed.

/** `panel` holds the board, `field()` is the text field, `send(action)` takes the turn, `ready()` says if it can be. */
export function composer({ panel, field, send, ready }) {
  let picked = []; // the elements, in order

  const rules = () => panel?.querySelector("[data-compose]");
  const picks = () => rules().dataset.picks.split(" ");
  const isComplete = () => picked.length === picks().length;
  const isEnough = () => picked.length >= Number(rules().dataset.fewest ?? picks().length);

  function action() {
    const { before, between, after } = rules().dataset;
    return before + picked.map((element) => element.dataset.part).join(between) + after;
  }

  /** Take a pick. A second place where a key is due replaces the first; a pick that is not due is ignored. */
  function pick(element) {
    const due = picks()[picked.length];
    const kind = element.dataset.pick;
    if (kind === "place" && picked.at(-1) === element) { // once more: put it back
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

  /** Show what is picked: on the board, in the field and in the prompt. */
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
    if (event.target.closest(".key")) event.preventDefault(); // focus stays, so Enter sends and does not press it again
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
    /** Whether a key that was pressed belongs to the action; `cell` is the cell with the focus, if there is one. */
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

    /** The board was drawn anew. */
    drawn() {
      picked = [];
      const prompt = panel?.querySelector("[data-prompt]");
      if (prompt && rules()) prompt.textContent = rules().dataset.prompts.split("|")[0];
    },
  };
}
