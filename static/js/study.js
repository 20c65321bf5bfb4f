// The page of a study: when a run has ended, the figures are loaded again. On the form, another study opens the page
// anew, filled with what it has.

const live = document.querySelector("[data-figures]");

if (live) {
  const doneNow = () => document.getElementById("progress")?.dataset.done;
  let drawn = doneNow();
  const refresh = () => {
    if (doneNow() === drawn) return;
    drawn = doneNow();
    window.htmx.ajax("GET", live.dataset.figures, { target: "#figures", swap: "outerHTML" });
  };
  new MutationObserver(refresh).observe(live, { childList: true, subtree: true });
}

for (const choice of document.querySelectorAll("input[data-reload]")) {
  choice.addEventListener("change", () => {
    const address = new URL(location.pathname, location.href);
    address.searchParams.set("study", choice.value);
    location.replace(address);
  });
}
