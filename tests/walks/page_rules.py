"""What axe-core and the browser's own measure of layout say about a page: the same rules for every address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = (Path(__file__).parent / "vendor" / "axe-4.14.1.min.js").read_text()
MOST_SHIFT = 0.05
"""Web Vitals calls a cumulative layout shift below 0.1 good; ours is half of that."""

WATCH_SHIFTS = r"""
(() => {
  window.layoutShifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      const moved = entry.sources.map((source) => source.node?.parentElement && source.node.outerHTML?.slice(0, 100));
      window.layoutShifts.push([entry.value, moved.filter(Boolean)]);
    }
  }).observe({ type: "layout-shift", buffered: true });
})()
"""
"""For `Page.add_init_script`: writes down every shift of the layout, with what was moved."""

_AXE = r"""
async (onlyColours) => {
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const runOnly = onlyColours ? { type: "rule", values: ["color-contrast"] } : tags;
  const { violations } = await axe.run(document, { runOnly, resultTypes: ["violations"], preload: false });
  return violations.map(({ id, help, nodes }) => `${id} (${help}): ${nodes.length}: ${nodes.slice(0, 3)
    .map((node) => node.html.slice(0, 160)).join(" | ")}`);
}
"""


_PRIMARY = r"""
() => [...document.querySelectorAll("[data-kind=primary]")]
  .filter((button) => button.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
  .map((button) => button.textContent.trim())
"""


def violations(page: Page, *, only_colours: bool = False) -> list[str]:
    """The rules of axe-core (WCAG 2.2 AA and best practices) that the page breaks, with the first elements of each.

    Args:
        only_colours: ask about the contrast alone, which is all that another colour scheme changes.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found: list[str] = page.evaluate(_AXE, only_colours)
    if not found:
        return []
    return [said for said in page.evaluate(_AXE, only_colours) if said in found]  # not while a part is exchanged


def primary_buttons(page: Page) -> list[str]:
    """The words of the primary buttons that can be seen, if there is more than one; everything else is quiet."""
    seen: list[str] = page.evaluate(_PRIMARY)
    return seen if len(seen) > 1 else []


def shifts(page: Page) -> list[Any]:
    """The shifts of the layout since the page was opened, if they come to more than `MOST_SHIFT`; else nothing."""
    seen: list[Any] = page.evaluate("window.layoutShifts")
    return seen if sum(value for value, _ in seen) > MOST_SHIFT else []
