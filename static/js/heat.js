// A table of links is one stop of the Tab key: arrow keys, Home and End move between its cells. So are the episodes of
// an environment on the page of a job, of which there may be 480; their cells are exchanged while the job runs.

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

function prepareEpisodes() {
  for (const link of document.querySelectorAll(".episodes a.ep:not([tabindex])")) {
    link.tabIndex = link.parentElement.querySelector("a.ep[tabindex='0']") ? -1 : 0;
  }
}

/** The link in the row of cells above or below that is nearest; rows are as long as the window allows. */
function inNextRow(links, link, down) {
  const { offsetLeft, offsetTop } = link;
  const beyond = links.filter((other) => (other.offsetTop - offsetTop) * down > 0);
  const near = Math.min(...beyond.map((other) => Math.abs(other.offsetTop - offsetTop)));
  return beyond.filter((other) => Math.abs(other.offsetTop - offsetTop) === near)
    .sort((one, other) => Math.abs(one.offsetLeft - offsetLeft) - Math.abs(other.offsetLeft - offsetLeft))[0];
}

document.addEventListener("keydown", (event) => {
  const cell = event.target.closest?.(".episodes a.ep");
  if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
  const links = [...cell.parentElement.querySelectorAll("a.ep")];
  const [down, right] = MOVES[event.key] ?? [0, 0];
  const link = event.key === "Home" ? links[0] : event.key === "End" ? links.at(-1)
    : right ? links[links.indexOf(cell) + right] : down ? inNextRow(links, cell, down) : null;
  if (!link) return;
  event.preventDefault();
  for (const other of links) if (other.tabIndex === 0) other.tabIndex = -1;
  link.tabIndex = 0;
  link.focus();
});

document.addEventListener("htmx:load", prepareAll);
prepareAll();
const grid = document.getElementById("grid");
if (grid) {
  new MutationObserver(prepareEpisodes).observe(grid, { childList: true, subtree: true });
  prepareEpisodes();
}
