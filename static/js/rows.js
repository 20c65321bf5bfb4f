// A turn may arrive twice: as the answer to the request that played it, and over the socket. Its row is added once.

/** Drop from what is about to be added to the history the rows that are there already. */
export function keepRowsOnce() {
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    if (target?.id !== "turns") return;
    for (const row of fragment.querySelectorAll("li[id]")) {
      if (target.querySelector(`#${row.id}`)) row.remove();
    }
  });
}
