// The form of evaluations: a search changes nothing about the request, and whoever adds or removes something by keyboard
// goes on in the list where they were.

let place = -1;

document.addEventListener(
  "change",
  (event) => {
    if (event.target.matches(".searchbox input")) event.stopPropagation();
  },
  { capture: true },
);

const sections = () => [...document.querySelectorAll("#choices > fieldset")];

document.addEventListener("htmx:beforeRequest", (event) => {
  const section = event.target.closest?.("#choices > fieldset");
  if (section) place = sections().indexOf(section);
});

document.addEventListener("htmx:afterSettle", () => {
  if (place < 0 || document.activeElement !== document.body) return;
  sections()[place]?.querySelector(".found, button")?.focus();
  place = -1;
});
