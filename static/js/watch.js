// A live episode that one watches: rows come once, and the pace that is chosen follows who else steers.

import { toLastMessage } from "./messages.js";
import { keepRowsOnce } from "./rows.js";

keepRowsOnce();
toLastMessage();
document.addEventListener("htmx:wsAfterMessage", toLastMessage);

document.addEventListener("htmx:oobAfterSwap", (event) => {
  if (event.detail.target?.id !== "show-state" && event.detail.elt?.id !== "show-state") return;
  const pace = Number(document.getElementById("show-state")?.dataset.pace);
  for (const option of document.querySelectorAll("#pace option")) option.selected = Number(option.value) === pace;
});
