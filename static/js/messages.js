// A conversation shows its last message, unless somebody scrolled up to read an earlier one.

const NEAR = 80; // pixels from the end that count as being there

let shown = null; // the list that was scrolled last, and whether its end was visible

document.addEventListener("scroll", (event) => {
  if (event.target.matches?.("[data-messages]")) shown = { list: event.target, atEnd: isAtEnd(event.target) };
}, true);

const isAtEnd = (list) => list.scrollHeight - list.scrollTop - list.clientHeight < NEAR;

/** Scroll to the last message after a turn. */
export function toLastMessage() {
  const list = document.querySelector("[data-messages]");
  if (!list || (shown?.list === list && !shown.atEnd)) return;
  list.scrollTop = list.scrollHeight;
}
