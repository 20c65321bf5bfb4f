"""What a screen reader and a keyboard need of every page, checked in the browser itself."""

from __future__ import annotations

from typing import Any

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


_OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def overflow(page: Page) -> int:
    """How many pixels the page is wider than the window."""
    wider: int = page.evaluate(_OVERFLOW)
    return wider


_FAINT = r"""
() => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const paint = canvas.getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      paint.clearRect(0, 0, 1, 1);
      paint.fillStyle = colour;
      paint.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = paint.getImageData(0, 0, 1, 1).data;
      known.set(colour, [red, green, blue, alpha / 255]);
    }
    return known.get(colour);
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
  const light = (colour) => {
    const [red, green, blue] = colour.map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const grounds = new Map();
  const ground = (element) => {  // null where a picture or a gradient is behind the text
    if (!element) return [255, 255, 255];
    if (!grounds.has(element)) grounds.set(element, groundOf(element));
    return grounds.get(element);
  };
  const groundOf = (element) => {
    const style = getComputedStyle(element);
    if (style.backgroundImage !== "none" || Number(style.opacity) < 1) return null;
    const colour = rgba(style.backgroundColor);
    if (colour[3] >= 1) return over(colour, [0, 0, 0]);
    const below = ground(element.parentElement);
    return below && over(colour, below);
  };
  document.body.getBoundingClientRect();  // begins what a change of the theme began, and ends it: no colour on its way
  for (const change of document.getAnimations()) if (change instanceof CSSTransition) change.finish();
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    if (element.closest("svg, [aria-hidden=true], :disabled, .sr, noscript")) continue;
    const behind = ground(element);
    if (!behind) continue;
    const style = getComputedStyle(element);
    const lights = [light(over(rgba(style.color), behind)), light(behind)].sort((a, b) => b - a);
    const ratio = (lights[0] + 0.05) / (lights[1] + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5) - 0.005) found.add(`${ratio.toFixed(2)}: ${element.outerHTML.slice(0, 120)}`);
  }
  return [...found];
}
"""


def faint(page: Page) -> list[str]:
    """Text that stands out less from its ground than WCAG 2.2 AA asks: 4.5, large text 3. Pictures are left out."""
    found: list[str] = page.evaluate(_FAINT)
    return found


_SMALL = r"""
() => {
  const found = [];
  const controls = "button:not(.cell), select, summary, input:not([type=hidden]), a.button, [role=button]";
  for (const element of document.querySelectorAll(controls)) {
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const box = (element.labels?.[0] ?? element).getBoundingClientRect();
    const target = element.type === "checkbox" || element.type === "radio" ? box : element.getBoundingClientRect();
    if (Math.min(target.width, target.height) < 23.5) {
      found.push(`${Math.round(target.width)} by ${Math.round(target.height)}: ${element.outerHTML.slice(0, 120)}`);
    }
  }
  return found;
}
"""


def small(page: Page) -> list[str]:
    """Controls that are smaller than 24 px either way (WCAG 2.2, 2.5.8); links within text are none.

    Cells of a board are left out: their number and the width of the page decide, and what they do can be typed.
    """
    found: list[str] = page.evaluate(_SMALL)
    return found


_EVERYTHING = f"() => [({_OVERFLOW})(), ({_FIND})(), ({_FAINT})(), ({_SMALL})()]"
NO_COMPLAINTS: list[Any] = [0, [], [], []]


def complaints_about(page: Page, *, only_colours: bool = False) -> list[Any]:
    """All of the above in one question to the browser: the overflow, the problems, what is faint and what is small."""
    if only_colours:
        return [0, [], faint(page), []]
    found: list[Any] = page.evaluate(_EVERYTHING)
    return [max(0, found[0]), *found[1:]]
