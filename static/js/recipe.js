// Choosing a recipe fills the form with its values: the page is opened anew for it, where it was scrolled to, and with
// what no recipe decides as it was.

const OWN = ["name", "seeds", "all_algorithms", "evaluate_best"];

for (const choice of document.querySelectorAll('input[type="radio"][name="recipe"]')) {
  choice.addEventListener("change", () => {
    sessionStorage.setItem("train-scroll", String(scrollY));
    const filled = new FormData(choice.form);
    const address = new URL(location.pathname, location.href);
    address.searchParams.set("recipe", choice.value);
    for (const name of OWN) if (filled.get(name)) address.searchParams.set(name, filled.get(name));
    location.replace(address);
  });
}
const place = sessionStorage.getItem("train-scroll");
if (place) {
  sessionStorage.removeItem("train-scroll");
  scrollTo(0, Number(place));
  document.querySelector('input[name="recipe"]:checked')?.focus({ preventScroll: true });
}
