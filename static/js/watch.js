// The page of a live episode for spectators: rows are added once, and the pace menu follows changes by other people.

import { toLastMessage } from "./messages.js";
import { keepRowsOnce } from "./rows.js";

/** When a person has played no turn for a while, the badge says what the episode waits for, until the next turn. */
let idle = null;
function awaitTurn() {
  clearTimeout(idle);
  const badge = document.getElementById("live-badge");
  if (!badge?.dataset.idleAfter) return;
  idle = setTimeout(() => {
    badge.removeAttribute("data-tone");
    badge.textContent = badge.dataset.idle;
  }, Number(badge.dataset.idleAfter) * 1000);
}

awaitTurn();
document.addEventListener("htmx:wsAfterMessage", awaitTurn);
keepRowsOnce();
toLastMessage();
document.addEventListener("htmx:wsAfterMessage", toLastMessage);

document.addEventListener("htmx:oobAfterSwap", (event) => {
  if (event.detail.target?.id !== "show-state" && event.detail.elt?.id !== "show-state") return;
  const pace = Number(document.getElementById("show-state")?.dataset.pace);
  for (const option of document.querySelectorAll("#pace option")) option.selected = Number(option.value) === pace;
});
