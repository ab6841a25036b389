"""The tabs of a job that are drawn anew all the time: how each is opened, what somebody does in it, and when it is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from playwright.sync_api import Page

from bench.ui.wide import CHAINS, SUBTASKS

TIMEOUT_MS = 60_000
HISTORY_ROWS = 10
TRENDS = 4
REPLAYED_MS = 5_000
OVER_TIME = 2
"""Charts of the operator that is looked at, at least: a source has none of alignment."""
CELL = "button[aria-label*=']: ']"
"""Of the heat map, one a subtask: `stage 3 of 4 [7]: 12 % busy`."""


@dataclass(frozen=True, slots=True)
class Move:
    """Something that somebody does. ``do`` returns once what comes of it is there."""

    what: str
    do: Callable[[Page], None]


@dataclass(frozen=True, slots=True)
class Tab:
    """``label``: of the link to it. ``drawn`` returns once all of it is there. ``moves`` come before it is watched: the last one stays."""

    name: str
    label: str
    drawn: Callable[[Page], None]
    moves: Sequence[Move]


def _wait(page: Page, test: str) -> None:
    """Until this JavaScript is true. Not by roles and names of things: to find those takes longer than anything that is measured here."""
    page.wait_for_function(f"() => {test}", polling=100, timeout=TIMEOUT_MS)


def _count(selector: str, count: int) -> str:
    return f"document.querySelectorAll({selector!r}).length === {count}"


def _overview(page: Page) -> None:
    _wait(page, _count(".react-flow__node .weir-cells", CHAINS))


def _choose_operator(page: Page) -> None:
    page.locator(".react-flow__node").nth(CHAINS // 2).click()
    _wait(page, "document.querySelector('aside h3')")


def _close_operator(page: Page) -> None:
    page.locator("aside button[aria-label=Close]").click()
    _wait(page, "!document.querySelector('aside')")


def _larger(page: Page) -> None:
    """Until names can be read."""
    for _ in range(8):
        page.locator("button.react-flow__controls-zoomin").click()
        page.wait_for_timeout(150)


def _all_of_it(page: Page) -> None:
    page.locator("button.react-flow__controls-fitview").click()


def _replay(page: Page) -> None:
    page.locator("button:text-is('Replay the last')").click()
    _wait(page, "document.querySelector('[role=group][aria-label=Replay]')")
    page.wait_for_timeout(REPLAYED_MS)


def _live_again(page: Page) -> None:
    page.locator("button:text-is('Back to live')").click()
    _wait(page, "!document.querySelector('[role=group][aria-label=Replay]')")


def _checkpoints(page: Page) -> None:
    _wait(page, f"weirBench.section('History')?.querySelectorAll('tr.RaDataTable-clickableRow').length === {HISTORY_ROWS}")
    _wait(page, f"weirBench.section('Trends')?.querySelectorAll('figure:has(canvas)').length === {TRENDS}")


def _open_detail(page: Page) -> None:
    """Of the checkpoint that is in progress, most of the time."""
    page.locator("tr.RaDataTable-clickableRow").first.locator("td").nth(2).click()
    _wait(
        page,
        f"document.querySelectorAll('[role=region] section[aria-label=Operators] button[aria-expanded]').length === {CHAINS}",
    )


def _backpressure(page: Page) -> None:
    _wait(page, _count(CELL, SUBTASKS))
    _wait(page, f"document.querySelectorAll('figure:has(canvas)').length >= {OVER_TIME}")


def _another_measure(page: Page) -> None:
    page.locator("button[value=busy]").click()
    _wait(page, _count("button[aria-label$=' busy']", SUBTASKS))


def _choose_subtask(page: Page) -> None:
    page.locator(CELL).nth(3).click()
    _wait(page, "[...document.querySelectorAll('h2')].some(({ textContent }) => textContent.endsWith('[3]'))")


TABS: Sequence[Tab] = (
    Tab(
        "overview",
        "Overview",
        _overview,
        (
            Move("an operator chosen", _choose_operator),
            Move("and closed", _close_operator),
            Move("made larger", _larger),
            Move("all of it", _all_of_it),
            Move("a checkpoint replayed", _replay),
            Move("live again", _live_again),
        ),
    ),
    Tab("checkpoints", "Checkpoints", _checkpoints, (Move("a detail opened", _open_detail),)),
    Tab(
        "backpressure",
        "Backpressure & alignment",
        _backpressure,
        (Move("another measure", _another_measure), Move("a subtask chosen", _choose_subtask)),
    ),
)
