"""The continuously updated tabs of a job's page: how to open each tab, the user actions in the tab, and when the tab is
completely drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from playwright.sync_api import Page

from bench.ui.wide_job import CHAINS, SUBTASKS

TIMEOUT_MS = 60_000
HISTORY_ROWS = 10
TRENDS = 4
REPLAYED_MS = 5_000
CHARTS_MIN = 2
"""Minimum number of charts of the selected operator. A source has only ``CHARTS_MIN`` charts, because it has no inputs to
align."""
CELL = "button[aria-label*=']: ']"
"""A cell of the heat map. Each subtask has a cell, named like `stage 3 of 4 [7]: 12 % busy`."""


@dataclass(frozen=True, slots=True)
class UserAction:
    """``do`` returns when the page shows the result of the action."""

    name: str
    do: Callable[[Page], None]


@dataclass(frozen=True, slots=True)
class Tab:
    """``label``: the text of the link to the tab. ``wait_drawn`` returns when the tab is completely drawn. ``actions``: each user
    action is measured separately. The last measurement of a tab takes place without user actions."""

    name: str
    label: str
    wait_drawn: Callable[[Page], None]
    actions: Sequence[UserAction]


def _wait(page: Page, test: str) -> None:
    """Wait until the JavaScript expression ``test`` is true. Locators by role would take longer than the measured work."""
    page.wait_for_function(f"() => {test}", polling=100, timeout=TIMEOUT_MS)


def _count(selector: str, count: int) -> str:
    return f"document.querySelectorAll({selector!r}).length === {count}"


def _wait_overview(page: Page) -> None:
    _wait(page, _count(".react-flow__node .weir-cells", CHAINS))


def _select_operator(page: Page) -> None:
    page.locator(".react-flow__node").nth(CHAINS // 2).click()
    _wait(page, "document.querySelector('aside h3')")


def _close_operator(page: Page) -> None:
    page.locator("aside button[aria-label=Close]").click()
    _wait(page, "!document.querySelector('aside')")


def _zoom_in(page: Page) -> None:
    """Zoom in until the operator names are readable."""
    for _ in range(8):
        page.locator("button.react-flow__controls-zoomin").click()
        page.wait_for_timeout(150)


def _fit_view(page: Page) -> None:
    page.locator("button.react-flow__controls-fitview").click()


def _replay(page: Page) -> None:
    page.locator("button:text-is('Replay last checkpoint')").click()
    _wait(page, "document.querySelector('[role=group][aria-label=Replay]')")
    page.wait_for_timeout(REPLAYED_MS)


def _back_to_live(page: Page) -> None:
    page.locator("button:text-is('Back to live view')").click()
    _wait(page, "!document.querySelector('[role=group][aria-label=Replay]')")


def _wait_checkpoints(page: Page) -> None:
    _wait(page, f"weirBench.section('History')?.querySelectorAll('tr.RaDataTable-clickableRow').length === {HISTORY_ROWS}")
    _wait(page, f"weirBench.section('Trends')?.querySelectorAll('figure:has(canvas)').length === {TRENDS}")


def _open_detail(page: Page) -> None:
    """Open the newest checkpoint, which is usually in progress."""
    page.locator("tr.RaDataTable-clickableRow").first.locator("td").nth(2).click()
    _wait(
        page,
        f"document.querySelectorAll('[role=region] section[aria-label=Operators] button[aria-expanded]').length === {CHAINS}",
    )


def _wait_backpressure(page: Page) -> None:
    _wait(page, _count(CELL, SUBTASKS))
    _wait(page, f"document.querySelectorAll('figure:has(canvas)').length >= {CHARTS_MIN}")


def _select_metric(page: Page) -> None:
    page.locator("button[value=busy]").click()
    _wait(page, _count("button[aria-label$=' busy']", SUBTASKS))


def _select_subtask(page: Page) -> None:
    page.locator(CELL).nth(3).click()
    _wait(page, "[...document.querySelectorAll('h2')].some(({ textContent }) => textContent.endsWith('[3]'))")


TABS: Sequence[Tab] = (
    Tab(
        "overview",
        "Overview",
        _wait_overview,
        (
            UserAction("select an operator", _select_operator),
            UserAction("close it", _close_operator),
            UserAction("zoom in", _zoom_in),
            UserAction("fit view", _fit_view),
            UserAction("replay a checkpoint", _replay),
            UserAction("back to live", _back_to_live),
        ),
    ),
    Tab("checkpoints", "Checkpoints", _wait_checkpoints, (UserAction("open a checkpoint", _open_detail),)),
    Tab(
        "backpressure",
        "Backpressure & alignment",
        _wait_backpressure,
        (UserAction("select another metric", _select_metric), UserAction("select a subtask", _select_subtask)),
    ),
)
