// A turn may arrive twice: as the response to the request that played it, and over the socket. Its row is added once.

/** Skip rows that are already in the history when new ones are added. */
export function keepRowsOnce() {
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    if (target?.id !== "turns") return;
    for (const row of fragment.querySelectorAll("li[id]")) {
      if (target.querySelector(`#${row.id}`)) row.remove();
    }
  });
}
