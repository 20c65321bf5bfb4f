// TV mode: N goes to the next episode, F fills the screen, Escape leaves. What is on, the server chooses.

const screen = () => document.getElementById("tv-screen");

function showNext() {
  const on = screen().dataset.on;
  const address = screen().getAttribute("hx-get").split("?")[0];
  return window.htmx.ajax("GET", on ? `${address}?after=${on}` : address, { target: "#tv-screen", swap: "outerHTML" });
}

// Each waits for the one before, whose answer says what is on.
let shown = Promise.resolve();

const does = {
  next() {
    shown = shown.then(showNext).catch(() => {});
  },
  full() {
    if (document.fullscreenElement) document.exitFullscreen();
    else document.querySelector(".tv").requestFullscreen?.();
  },
};

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-tv]");
  if (button) does[button.dataset.tv]();
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  const name = { n: "next", f: "full" }[event.key.toLowerCase()];
  if (name) does[name]();
  else if (event.key === "Escape" && !document.fullscreenElement) document.querySelector(".tv a")?.click();
});
