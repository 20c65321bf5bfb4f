// Choosing a recipe fills the form with its values: the page is opened anew for it, where it was scrolled to.

for (const choice of document.querySelectorAll('input[type="radio"][name="recipe"]')) {
  choice.addEventListener("change", () => {
    sessionStorage.setItem("train-scroll", String(scrollY));
    const address = new URL(location.href);
    address.searchParams.set("recipe", choice.value);
    location.replace(address);
  });
}
const place = sessionStorage.getItem("train-scroll");
if (place) {
  sessionStorage.removeItem("train-scroll");
  scrollTo(0, Number(place));
  document.querySelector('input[name="recipe"]:checked')?.focus({ preventScroll: true });
}
