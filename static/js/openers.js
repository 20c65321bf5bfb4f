// The link that opens a row in place says whether the row is open, and closes it again. Without scripts it leads to a
// page on which the row is open.

const openerOf = (event) => event.detail.requestConfig?.elt.closest(".opener") ?? null;

document.addEventListener("htmx:beforeRequest", (event) => {
  const opener = openerOf(event);
  if (opener?.getAttribute("aria-expanded") !== "true") return;
  event.preventDefault();
  opener.setAttribute("aria-expanded", "false");
  document.getElementById(opener.getAttribute("aria-controls")).replaceChildren();
  const address = new URL(location.href);
  address.searchParams.delete("row"); // a page that is loaded again shows the row as it is now
  address.hash = "";
  history.replaceState(history.state, "", address);
});

document.addEventListener("htmx:afterSwap", (event) => openerOf(event)?.setAttribute("aria-expanded", "true"));
