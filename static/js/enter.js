// Enter sends the action field. Loaded before the page is drawn, so that a key pressed while the other scripts are still on
// their way is not lost: the form is then sent as it would be without scripts. What must wait is held back by board.js.
document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  if (key !== "Enter" || !target.matches("textarea[data-say]") || event.altKey || event.isComposing) return;
  const withControl = event.ctrlKey || event.metaKey;
  if (target.hasAttribute("data-lines") ? !withControl : withControl || event.shiftKey) return; // a new line
  event.preventDefault();
  target.form.requestSubmit();
});
