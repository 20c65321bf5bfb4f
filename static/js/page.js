// What every page does: "/" goes to the search field, a chip copies itself, a lost request says so,
// a menu closes when it loses the focus, a refused form has the focus where it is to be corrected.

const { htmx, Idiomorph } = window;

const TOAST_MS = 6000;
const BESIDE_TAB_PX = 40; // so much of the next one is seen, too

/** Say something in a corner for a few seconds; screen readers hear it too. */
export function toast(text) {
  const item = document.createElement("div");
  item.className = "toast";
  item.textContent = text;
  document.getElementById("toasts").append(item);
  setTimeout(() => item.remove(), TOAST_MS);
}

document.addEventListener("page:say", ({ detail }) => toast(detail)); // for scripts of pages within other sites, too

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") for (const menu of document.querySelectorAll("details.menu[open]")) closeMenu(menu);
  const typing = event.target.matches("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const search = [...document.querySelectorAll(".bar-search input, .search-link")].find((one) => one.checkVisibility());
  if (!search) return;
  event.preventDefault();
  search.focus();
  if (search.matches("a")) search.click(); // where there is no room for the field, its page has one
});

document.addEventListener("click", (event) => {
  const chip = event.target.closest("[data-copy]");
  if (chip) copy(chip);
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

function closeMenu(menu) {
  menu.open = false;
  menu.querySelector("summary").focus();
}

async function copy(chip) {
  try {
    await navigator.clipboard.writeText(chip.dataset.copy);
    toast(`Copied ${chip.dataset.copied ?? chip.dataset.copy}`);
  } catch {
    toast(`This browser does not let a page copy. The text is ${chip.dataset.copy}`);
  }
}

// A form whose answer takes long says so, and is not sent twice.
document.addEventListener("submit", (event) => {
  const said = document.getElementById(event.target.dataset.busy ?? "");
  if (!said) return;
  said.textContent = said.dataset.text;
  event.target.querySelector("[type=submit]").disabled = true;
});

// A form that begins something carries a key, so that sending it twice begins one. Where the server has sent the form to
// all readers alike, each browser draws the key; and whoever comes back to a page begins another with its buttons.
document.addEventListener("submit", (event) => {
  const field = event.target.elements.namedItem("idempotency_key");
  if (field?.value === "") field.value = newKey();
}, true);

addEventListener("pageshow", (event) => {
  const cameBack = event.persisted || performance.getEntriesByType("navigation")[0]?.type === "back_forward";
  if (cameBack) for (const field of document.getElementsByName("idempotency_key")) field.value = newKey();
});

const newKey = () => (
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("")
);

// A request that failed changed nothing on the page; the reader hears why. What a page asks for by itself every few seconds
// is said once, until it is answered again.
const unanswered = new WeakSet();

function sayFailed({ elt, triggeringEvent }, sentence, reason) {
  const isAskedAgain = !triggeringEvent && elt.getAttribute("hx-trigger")?.includes("every");
  if (!isAskedAgain) toast(sentence);
  else if (!unanswered.has(elt)) toast(`This page cannot be brought up to date: ${reason}. It tries again by itself.`);
  if (isAskedAgain) unanswered.add(elt);
}

document.addEventListener("htmx:afterRequest", ({ detail }) => detail.successful && unanswered.delete(detail.elt));
document.addEventListener("htmx:sendError", ({ detail }) => {
  const sentence = "The server did not answer. Nothing was changed. Try again.";
  sayFailed(detail.requestConfig, sentence, "the server did not answer");
});
document.addEventListener("htmx:responseError", ({ detail }) => {
  const { status } = detail.xhr;
  const isRefused = status === 401 || status === 403;
  const sentence = isRefused
    ? "The server refused this, and nothing was changed. If you logged out in another tab, reload the page and log in."
    : `The server answered ${status}. Nothing was changed. Reload the page and try again.`;
  sayFailed(detail.requestConfig, sentence, `the server answered ${status}`);
});

// What is refused before any view sees it, such as one request too many in a minute, is answered with a page. It says why,
// and does not take the place of the part that was asked for.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, requestConfig } = event.detail;
  if (xhr.status < 400 || !event.detail.shouldSwap) return;
  const page = new DOMParser().parseFromString(xhr.responseText, "text/html");
  const said = page.querySelector("main > .error-page p");
  if (!said) return;
  event.detail.shouldSwap = false;
  sayFailed(requestConfig, said.textContent.trim().replace(/\s+/g, " "), `the server answered ${xhr.status}`);
});

// Whoever used the keyboard inside a part that is replaced goes on at the part that came instead.
let replaced = "";

document.addEventListener("htmx:beforeSwap", (event) => {
  const { target } = event.detail;
  replaced = target.id && target.contains(document.activeElement) ? target.id : replaced;
});

document.addEventListener("htmx:afterSettle", () => {
  const part = replaced && document.activeElement === document.body ? document.getElementById(replaced) : null;
  replaced = "";
  const place = part?.querySelector("h2, h3") ?? part;
  if (!place) return;
  place.tabIndex = -1;
  place.focus({ preventScroll: true });
});

for (const item of document.querySelectorAll("#toasts .toast")) setTimeout(() => item.remove(), TOAST_MS);

// A refused form comes back as a page: whoever sent it from its end goes on at the first field that is wrong.
const WRONG = "[aria-invalid=true], :is(fieldset, [role=group])[aria-describedby$=error] input";
const wrong = [...document.querySelectorAll(`main form :is(${WRONG})`)];
for (const field of wrong) field.closest("details")?.setAttribute("open", "");
wrong.find((field) => field.checkVisibility())?.focus();

// Of tabs that do not fit beside each other, the chosen one is in sight.
for (const chosen of document.querySelectorAll(":is(.tabs, .pick-row) > [aria-current]")) {
  const row = chosen.parentElement;
  const hidden = chosen.offsetLeft + chosen.offsetWidth - row.offsetLeft - row.clientWidth;
  if (hidden > 0) row.scrollLeft = hidden + BESIDE_TAB_PX;
}

// Only the board: everything around it is hidden until the same button, or Escape, brings it back.
const onlyBoard = document.querySelector("[data-only-board]");

function showOnlyBoard(isOn) {
  document.documentElement.toggleAttribute("data-bare", isOn);
  onlyBoard.setAttribute("aria-pressed", String(isOn));
}

if (onlyBoard) {
  onlyBoard.hidden = false;
  onlyBoard.addEventListener("click", () => showOnlyBoard(!document.documentElement.hasAttribute("data-bare")));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && document.documentElement.hasAttribute("data-bare")) showOnlyBoard(false);
  });
}

// ---------------------------------------------------------------- only what differs is changed

// `hx-swap="morph"` and `hx-swap-oob="morph"` change the element itself: a turn changes a few cells of a board, and
// drawing all of it costs a browser 30 ms. idiomorph's own extension would handle all other swaps, too.
htmx.defineExtension("morph", {
  isInlineSwap: (style) => style === "morph",
  handleSwap: (style, target, fragment) => (
    style === "morph" && Idiomorph.morph(target, fragment.children, { morphStyle: "outerHTML" })
  ),
});
