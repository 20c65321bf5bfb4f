// Jumps of a player: to the next turn with a reward or an error, to the turns that the page names, to the list of keys,
// and to the full screen. Marks are turn numbers in `data-rewarded` and `data-errors` of the player.

const KEYS = { r: "rewarded", e: "errors" };
const NAMED = { x: "parting", v: "loss" };

/** `at()` returns the shown turn, `show(turn)` shows one. */
export function jumps(player, { at, show }) {
  const marked = (kind) => (player.dataset[kind] ?? "").split(" ").filter(Boolean).map(Number);

  /** Show the next marked turn, or with `back` the one before; at the end it goes on from the other side. */
  function jump(kind, back) {
    const turns = back ? marked(kind).reverse() : marked(kind);
    const turn = turns.find((number) => (back ? number < at() : number > at())) ?? turns[0];
    if (turn !== undefined) show(turn);
  }

  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey) return;
    const button = event.target.closest("[data-jump]");
    if (button) jump(button.dataset.jump, event.shiftKey);
    const named = event.target.closest("[data-jump-to]");
    if (!named || event.shiftKey) return;
    event.preventDefault();
    show(Number(named.dataset.jumpTo));
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input:not([type=range]), textarea, select")) return;
    const key = event.key.toLowerCase();
    if (key in KEYS) jump(KEYS[key], event.shiftKey);
    else if (key in NAMED) document.querySelector(`[data-why="${NAMED[key]}"] [data-jump-to]`)?.click();
    else if (event.key === "?") document.getElementById("keys")?.togglePopover();
    else if (key === "f") toFullScreen(player.closest(".panel"));
    else return;
    event.preventDefault();
  });
}

/** Show an element on the full screen, or leave it. */
function toFullScreen(element) {
  if (document.fullscreenElement) document.exitFullscreen();
  else element?.requestFullscreen?.();
}
