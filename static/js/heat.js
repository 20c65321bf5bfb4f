// A table of links is one stop of the Tab key: arrow keys, Home and End move between its cells.

const MOVES = {
  ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0],
};

function prepare(table) {
  const links = table.querySelectorAll("td a");
  links.forEach((link, index) => { link.tabIndex = index ? -1 : 0; });
}

function prepareAll() {
  document.querySelectorAll("table[data-roving]:not([data-ready])").forEach((table) => {
    table.dataset.ready = "";
    prepare(table);
  });
}

/** The next cell with a link in a direction, or null at the edge. */
function nextLink(cell, [down, right]) {
  let { rowIndex } = cell.parentElement;
  let column = cell.cellIndex;
  const { rows } = cell.closest("table");
  for (;;) {
    rowIndex += down;
    column += right;
    const next = rows[rowIndex]?.cells[column];
    if (!next || next.tagName !== "TD") return null;
    const link = next.querySelector("a");
    if (link) return link;
  }
}

document.addEventListener("keydown", (event) => {
  const cell = event.target.closest?.("table[data-roving] td");
  if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
  const links = [...cell.parentElement.querySelectorAll("td a")];
  const link = event.key === "Home" ? links[0] : event.key === "End" ? links.at(-1)
    : MOVES[event.key] && nextLink(cell, MOVES[event.key]);
  if (!link) return;
  event.preventDefault();
  for (const other of cell.closest("table").querySelectorAll("td a[tabindex='0']")) other.tabIndex = -1;
  link.tabIndex = 0;
  link.focus();
});

document.addEventListener("htmx:load", prepareAll);
prepareAll();
