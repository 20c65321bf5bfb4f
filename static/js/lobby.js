// The lobby: every card counts its spectators, and fills the screen with one click.

const WATCHING = /^<output id="spectators"[^>]*>([\d,]+) watching/;

document.addEventListener("htmx:wsBeforeMessage", (event) => {
  const watching = WATCHING.exec(event.detail.message);
  const number = watching && event.target.closest("[data-show]")?.querySelector("[data-watching]");
  if (number) number.textContent = watching[1];
});

document.addEventListener("click", (event) => {
  const show = event.target.closest("[data-full-screen]")?.closest("[data-show]");
  if (!show) return;
  if (document.fullscreenElement) document.exitFullscreen();
  else show.requestFullscreen?.();
});
