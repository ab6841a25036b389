"""Whether a page can be read: by everybody (WCAG, levels A and AA, as far as axe can tell), and without scrolling sideways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]
_NODES_MAX = 5

# What scrolls by its nature: code, and graphs, which are as wide as they are. Both can be reached by keyboard.
_SIDEWAYS = """() => {
  const name = (one) => one === document.documentElement ? 'the page'
    : `${one.tagName.toLowerCase()}.${[...one.classList].join('.')} ${one.getAttribute('aria-label') ?? ''}`;
  const scrolls = (one) => one === document.documentElement || ['auto', 'scroll'].includes(getComputedStyle(one).overflowX);
  return [...document.querySelectorAll('*')]
    .filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1 && scrolls(one))
    .filter((one) => !one.closest('pre, [role=region][aria-label=Graph]'))
    .map((one) => `${name(one)}: ${one.scrollWidth} px in ${one.clientWidth}`);
}"""


def violations(page: Page) -> list[str]:
    # Not as a script of the page, which its policy would refuse: by the browser's own means, past it.
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    asked = {"runOnly": {"type": "tag", "values": LEVELS}, "resultTypes": ["violations"]}
    found = page.evaluate("asked => axe.run(document, asked).then(({ violations }) => violations)", asked)
    return [line for one in found for line in _lines(one)]


def _lines(violation: dict[str, Any]) -> list[str]:
    nodes = violation["nodes"]
    more = [f"... and {len(nodes) - _NODES_MAX} more"] if len(nodes) > _NODES_MAX else []
    return [
        f"{violation['id']} ({violation['impact']}): {node['html'][:200]} | {' '.join(node['failureSummary'].split())}"
        for node in nodes[:_NODES_MAX]
    ] + more


def sideways(page: Page) -> list[str]:
    """What is wider than its place."""
    found: list[str] = page.evaluate(_SIDEWAYS)
    return found
