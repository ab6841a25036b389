"""Accessibility checks: the rules of axe for WCAG levels A and AA, and no horizontal scrolling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]
_NODES_MAX = 5

# Code blocks and graphs are allowed to scroll horizontally, because they are focusable.
_HORIZONTAL_OVERFLOW = """() => {
  const name = (one) => one === document.documentElement ? 'the page'
    : `${one.tagName.toLowerCase()}.${[...one.classList].join('.')} ${one.getAttribute('aria-label') ?? ''}`;
  const scrolls = (one) => one === document.documentElement || ['auto', 'scroll'].includes(getComputedStyle(one).overflowX);
  return [...document.querySelectorAll('*')]
    .filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1 && scrolls(one))
    .filter((one) => !one.closest('pre, [role=region][aria-label=Graph]'))
    .map((one) => `${name(one)}: ${one.scrollWidth} px in ${one.clientWidth}`);
}"""


def axe_violations(page: Page) -> list[str]:
    # Evaluate axe with ``page.evaluate``, because the content security policy of the page forbids additional scripts.
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    options = {"runOnly": {"type": "tag", "values": LEVELS}, "resultTypes": ["violations"]}
    found = page.evaluate("asked => axe.run(document, asked).then(({ violations }) => violations)", options)
    return [line for one in found for line in _lines(one)]


def _lines(violation: dict[str, Any]) -> list[str]:
    nodes = violation["nodes"]
    more = [f"... and {len(nodes) - _NODES_MAX} more"] if len(nodes) > _NODES_MAX else []
    return [
        f"{violation['id']} ({violation['impact']}): {node['html'][:200]} | {' '.join(node['failureSummary'].split())}"
        for node in nodes[:_NODES_MAX]
    ] + more


def horizontal_overflow(page: Page) -> list[str]:
    """Return a description of each element whose content is wider than the element."""
    found: list[str] = page.evaluate(_HORIZONTAL_OVERFLOW)
    return found
