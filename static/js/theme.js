// The theme follows the system until the reader chooses. Loaded before the first paint, so that nothing flashes.
const root = document.documentElement;

function stored() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null; // storage is switched off: the system's theme it is
  }
}

function store(theme) {
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // the choice lasts for this page
  }
}

function isDark() {
  if (root.dataset.theme) return root.dataset.theme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

const chosen = new URLSearchParams(location.search).get("theme") ?? stored();
if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-theme-toggle]")) return;
  root.dataset.theme = isDark() ? "light" : "dark";
  store(root.dataset.theme);
  document.dispatchEvent(new CustomEvent("themechange")); // charts read their colours anew
});
