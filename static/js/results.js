// The parts in which one reads the results are loaded when they come into view, which may be while the job runs. When
// it ends, those are loaded once more.

const reading = document.getElementById("reading");
const ended = document.getElementById("ended");

if (reading && ended) new MutationObserver(refresh).observe(ended, { childList: true });

function refresh(_changes, observer) {
  observer.disconnect();
  for (const part of reading.querySelectorAll(":scope > [id]")) {
    if (part.classList.contains("htmx-request")) part.addEventListener("htmx:beforeSwap", loadInstead, { once: true });
    else if (!part.hasAttribute("hx-get")) load(part);
  }
}

// What was asked for before the end may say what was so before the end.
function loadInstead(event) {
  event.detail.shouldSwap = false;
  load(event.currentTarget);
}

function load(part) {
  const address = `${reading.dataset.address}?part=${part.id}`;
  window.htmx.ajax("GET", address, { source: part, target: part, swap: "outerHTML" }); // of one source, one at a time
}
