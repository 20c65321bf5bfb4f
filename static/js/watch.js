// A live episode that one watches: rows come once, and the pace that is chosen follows who else steers.

import { keepRowsOnce } from "./rows.js";

keepRowsOnce();

document.addEventListener("htmx:oobAfterSwap", (event) => {
  if (event.detail.target?.id !== "show-state" && event.detail.elt?.id !== "show-state") return;
  const pace = Number(document.getElementById("show-state")?.dataset.pace);
  for (const option of document.querySelectorAll("#pace option")) option.selected = Number(option.value) === pace;
});
