// Actions made of several picks: a cell and a number, the two ends of a word, the letters of a guess. The element with
// data-compose describes the picks and how their parts are joined. Elements with data-part can be picked by a click or, if
// they are keys, by the keyboard. The field shows the partial action. Without this script, the action is typed.

/** `panel` holds the board, `field()` returns the text field, `send(action)` plays a turn if `ready()`. */
export function composer({ panel, field, send, ready }) {
  let picked = []; // the picked elements, in order
  let filling = null; // where the last letter was written, and in which direction its word goes: [row, column, down, right]
  let drawnAt = null; // the seq of the board that was drawn last
  let writtenAt = null; // the seq of the board on which it was written, until the next board is drawn

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
    if ("stepsOn" in rules().dataset) {
      filling = placeOf(picked[0]);
      writtenAt = seq();
    }
    clear();
    send(whole);
  }

  function takeBack() {
    picked.pop();
    show();
  }

  /** Keys that are larger than the next pick may be cannot be pressed. */
  function limit() {
    const most = rules()?.dataset.most?.split(" ").map(Number);
    if (!most) return;
    const largest = most[picked.length] ?? Infinity;
    for (const key of panel.querySelectorAll('.key[data-part]')) key.disabled = Number(key.dataset.part) > largest;
  }

  // ---------------------------------------------------------------- stepping on

  const seq = () => document.getElementById("board")?.dataset.seq;
  const board = () => [...panel.querySelectorAll('[role="row"]')].map((row) => [...row.querySelectorAll(".cell")]);
  const isFree = (cell) => cell?.dataset.pick === "place";
  const isPart = (cell) => Boolean(cell) && cell.dataset.tone !== "void";

  /** The place of a cell, and the direction in which its word goes: on in the last one, or where the next cell is. */
  function placeOf(cell) {
    const cells = board();
    const row = cells.findIndex((candidates) => candidates.includes(cell));
    const column = row < 0 ? -1 : cells[row].indexOf(cell);
    const across = isPart(cells[row]?.[column + 1]) || isPart(cells[row]?.[column - 1]);
    const down = isPart(cells[row + 1]?.[column]) || isPart(cells[row - 1]?.[column]);
    const goesDown = filling?.[2] ? filling[1] === column : false;
    return down && (goesDown || !across) ? [row, column, 1, 0] : [row, column, 0, 1];
  }

  /** After a letter, choose the next free cell of its word; after a wrong one, the same cell again. */
  function stepOn() {
    if (writtenAt === null || writtenAt === seq() || !rules()) return;
    writtenAt = null;
    const cells = board();
    let [row, column, down, right] = filling;
    while (isPart(cells[row]?.[column]) && !isFree(cells[row][column])) [row, column] = [row + down, column + right];
    const cell = cells[row]?.[column];
    if (!isFree(cell)) return;
    cell.focus({ preventScroll: true });
    pick(cell);
  }

  /** Show the picks on the board, in the field and in the prompt. */
  function show() {
    if (!rules()) return;
    mark();
    const { before, between, after } = rules().dataset;
    const parts = picked.map((element) => element.dataset.part);
    if (field()) field().value = parts.length ? before + parts.join(between) + (isEnough() ? after : between) : "";
  }

  /** Show the picks on the board and in the prompt. */
  function mark() {
    for (const element of panel.querySelectorAll("[data-pick]")) {
      const state = element.closest('[role="grid"]') ? "aria-selected" : "aria-pressed";
      if (element.dataset.pick === "place") element.setAttribute(state, String(picked.includes(element)));
    }
    for (const [index, slot] of panel.querySelectorAll("[data-slot]").entries()) {
      slot.textContent = picked[index]?.dataset.part ?? "";
    }
    const prompt = panel.querySelector("[data-prompt]");
    const words = rules().dataset.prompts.split("|");
    prompt.textContent = isComplete() ? "Press Enter to send" : (words[picked.length] ?? words.at(-1));
    limit();
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
      if (!button || button.disabled) return false;
      if (button.dataset.part === undefined) button.click();
      else {
        if (cell?.dataset.part && picks()[picked.length] === "place") pick(cell);
        else if (cell?.dataset.part && picked.at(-1) !== cell && picked.at(-1)?.dataset.pick === "place") pick(cell);
        pick(button);
      }
      return true;
    },

    /** Reset the picks after a turn. What else arrives, such as a hint or who watches, leaves them as they are. */
    drawn() {
      const isSame = drawnAt === seq() && rules();
      drawnAt = seq();
      if (isSame && picked.length && picked.every((element) => element.isConnected)) {
        mark();
        return;
      }
      picked = [];
      const prompt = panel?.querySelector("[data-prompt]");
      if (prompt && rules()) prompt.textContent = rules().dataset.prompts.split("|")[0];
      limit();
      stepOn();
    },
  };
}
