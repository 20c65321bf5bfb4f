"""What a screen reader and a keyboard need of every page, checked in the browser itself."""

from __future__ import annotations

from playwright.sync_api import Page

_FIND = r"""
() => {
  const problems = [];
  const say = (element, what) => problems.push(`${what}: ${element.outerHTML.slice(0, 140)}`);
  const text = (ids) => ids.split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();
  const name = (element) => {
    if (element.getAttribute("aria-labelledby")) return text(element.getAttribute("aria-labelledby"));
    if (element.getAttribute("aria-label")) return element.getAttribute("aria-label").trim();
    if (element.labels?.length) return [...element.labels].map((label) => label.textContent).join(" ").trim();
    const own = element.textContent.trim();
    if (own) return own;
    const inside = element.querySelector("[aria-label], img[alt]");
    return inside ? (inside.getAttribute("aria-label") ?? inside.getAttribute("alt")).trim() : element.title.trim();
  };
  const acting = "a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [role=gridcell]";
  for (const element of document.querySelectorAll(acting)) if (!name(element)) say(element, "has no name");
  for (const element of document.querySelectorAll("svg[role=img], [role=img], [role=grid], [role=group]")) {
    if (!name(element)) say(element, "is a picture or a group without a name");
  }
  for (const image of document.querySelectorAll("img:not([alt])")) say(image, "has no alternative text");
  for (const element of document.querySelectorAll("[tabindex]")) {
    if (element.tabIndex > 0) say(element, "jumps the queue");
  }
  for (const attribute of ["aria-labelledby", "aria-describedby", "aria-controls", "for"]) {
    for (const element of document.querySelectorAll(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(/\s+/)) {
        if (!document.getElementById(id)) say(element, `${attribute} names nothing`);
      }
    }
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  const twice = new Set(ids.filter((id, index) => ids.indexOf(id) !== index));
  for (const id of twice) problems.push(`twice on the page: #${id}`);
  const nested = "a a, a button, button a, button button, form form";
  for (const element of document.querySelectorAll(nested)) say(element, "is nested");
  for (const grid of document.querySelectorAll("[role=grid]")) {
    const stops = grid.querySelectorAll("[role=gridcell][tabindex='0']").length;
    if (stops !== 1) say(grid, `has ${stops} cells in the tab order`);
  }
  const count = (selector) => document.querySelectorAll(selector).length;
  if (count("h1") !== 1) problems.push(`${count("h1")} first headings`);
  if (count("main") !== 1) problems.push(`${count("main")} main landmarks`);
  if (!count("body > header")) problems.push("no header landmark");
  if (!document.documentElement.lang) problems.push("no language");
  if (!document.title.trim()) problems.push("no title");
  let before = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const level = Number(heading.tagName[1]);
    if (before && level > before + 1) say(heading, `skips from level ${before}`);
    before = level;
  }
  const navs = [...document.querySelectorAll("nav")];
  const labelled = (nav) => nav.hasAttribute("aria-label") || nav.hasAttribute("aria-labelledby");
  if (navs.length > 1) for (const nav of navs) if (!labelled(nav)) say(nav, "one of several navs, without a label");
  return problems;
}
"""


def problems(page: Page) -> list[str]:
    """Everything on the page that a screen reader or a keyboard would stumble over."""
    found: list[str] = page.evaluate(_FIND)
    return found


def overflow(page: Page) -> int:
    """How many pixels the page is wider than the window."""
    wider: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wider
