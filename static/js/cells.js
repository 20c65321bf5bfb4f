// The cells of episodes on the page of a running job. Of everything that a message swaps, htmx tells each element about
// every further one, so a message with some hundred cells would block the page for a second. Nothing in a cell concerns
// htmx: this extension puts them into the page, and leaves the rest of the message to htmx.

const { htmx } = window;

htmx.defineExtension("cells", {
  transformResponse(message) {
    const parts = document.createElement("template");
    parts.innerHTML = message;
    for (const cell of parts.content.querySelectorAll(".ep[hx-swap-oob]")) {
      const old = document.getElementById(cell.id);
      cell.removeAttribute("hx-swap-oob");
      cell.remove();
      const hadFocus = old !== null && old === document.activeElement;
      if (old?.hasAttribute("tabindex") && cell.tagName === "A") cell.tabIndex = old.tabIndex;
      old?.replaceWith(cell);
      if (hadFocus) cell.focus();
    }
    return parts.innerHTML;
  },
});
