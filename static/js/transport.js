// The controls of a player: buttons, scrubber, speed and keys. All of them change one number, the turn that is shown.
// Keys: left and right arrow, Home, End, space.

const TURN_MS = 1000;

/**
 * `player` holds the buttons. `at()` and `last()` return the shown and the last turn; `show(turn)` shows a turn.
 * `playing(is)` is called when automatic play starts and stops. Keys work only while `keys()` is true.
 */
export function transport(player, { at, last, show, playing = () => {}, keys = () => true }) {
  const button = player.querySelector('[data-player="play"]');
  let speed = 1;
  let timer = null;

  function stop() {
    clearInterval(timer);
    timer = null;
    say("Play", "play");
    playing(false);
  }

  function start() {
    if (at() >= last()) show(0);
    timer = setInterval(() => (at() < last() ? show(at() + 1) : stop()), TURN_MS / speed);
    say("Pause", "pause");
    playing(true);
  }

  function say(label, icon) {
    button.setAttribute("aria-label", label);
    const use = button.querySelector("use");
    use.setAttribute("href", use.getAttribute("href").replace(/#.*/, `#${icon}`));
  }

  const acts = {
    first: () => show(0),
    prev: () => show(at() - 1),
    play: () => (timer ? stop() : start()),
    next: () => show(at() + 1),
    last: () => show(last()),
  };

  player.querySelector('input[type="range"]').addEventListener("input", (event) => show(Number(event.target.value)));

  player.querySelector("[data-player-speed]").addEventListener("change", (event) => {
    speed = Number(event.target.value);
    if (!timer) return;
    clearInterval(timer);
    start();
  });

  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const act = event.target.closest("[data-player]");
    if (!act) return;
    event.preventDefault();
    acts[act.dataset.player]();
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || !keys()) return;
    if (event.target.matches("input:not([type=range]), textarea, select")) return;
    if (event.key === " " && event.target.matches("button, a, summary")) return;
    const act = { ArrowLeft: "prev", ArrowRight: "next", Home: "first", End: "last", " ": "play" }[event.key];
    if (!act) return;
    event.preventDefault();
    acts[act]();
  });
}
