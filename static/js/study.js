// The page of a study: when a run has ended, the figures are loaded again, and in another state the controls. On the form,
// another study opens the page anew, filled with what it has, and the tab keeps a plan until its study was started.

const DRAFT = "study-plan";
const live = document.querySelector("[data-figures]");
const plan = document.querySelector("textarea[name=plan]");

// A part asks for itself and stays in the page, so that it shows the last of several answers.
function load(id, address, options = {}) {
  const part = document.getElementById(id);
  window.htmx.ajax("GET", address, { source: part, target: part, swap: "innerHTML", ...options });
}

if (plan) {
  plan.value = sessionStorage.getItem(DRAFT) ?? plan.value;
  plan.addEventListener("input", () => sessionStorage.setItem(DRAFT, plan.value));
}

if (live) {
  sessionStorage.removeItem(DRAFT);
  const now = () => ({ ...document.getElementById("progress")?.dataset });
  let drawn = now();
  const refresh = () => {
    const { done, state } = now();
    const before = drawn;
    drawn = { done, state };
    if (done !== before.done) load("figures", live.dataset.figures);
    if (state !== before.state) load("controls", location.pathname, { select: "#controls > *" });
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
