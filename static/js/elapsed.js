// How long a turn has lasted: elements with data-elapsed count on from the seconds that the server wrote there, and say so
// from ten seconds on. Clocks of browsers are not asked for the time, only for its passing.

const SHOWN_FROM = 10;
const begun = new WeakMap(); // element -> [the seconds that the server wrote, when they were first seen]

function tick() {
  for (const element of document.querySelectorAll("[data-elapsed]")) {
    const written = Number(element.dataset.elapsed);
    const [before, seen] = begun.get(element) ?? [];
    if (before !== written) begun.set(element, [written, performance.now()]);
    const seconds = written + Math.floor((performance.now() - (before === written ? seen : performance.now())) / 1000);
    const text = seconds < SHOWN_FROM ? "" : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    if (element.textContent !== text) element.textContent = text;
  }
}

tick();
setInterval(tick, 1000);
