"""The tabs of a job that are drawn anew all the time: how each is opened, what somebody does in it, and when it is there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect

from bench.ui.wide import CHAINS, SUBTASKS

TIMEOUT_MS = 60_000
HISTORY_ROWS = 10
TRENDS = 4
OVER_TIME = 3
"""Charts of the operator that is looked at."""
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


def _overview(page: Page) -> None:
    expect(page.locator(".react-flow__node .weir-cells")).to_have_count(CHAINS, timeout=TIMEOUT_MS)


def _choose_operator(page: Page) -> None:
    page.locator(".react-flow__node").nth(CHAINS // 2).click()
    expect(page.get_by_role("complementary").get_by_role("row")).to_have_count(1 + SUBTASKS // CHAINS, timeout=TIMEOUT_MS)


def _close_operator(page: Page) -> None:
    page.get_by_role("complementary").get_by_role("button", name="Close").click()
    expect(page.get_by_role("complementary")).to_have_count(0)


def _larger(page: Page) -> None:
    """Until names can be read."""
    for _ in range(8):
        page.get_by_role("button", name="Larger").click()
        page.wait_for_timeout(150)


def _all_of_it(page: Page) -> None:
    page.get_by_role("button", name="All of it").click()


def _checkpoints(page: Page) -> None:
    expect(_rows(page)).to_have_count(HISTORY_ROWS, timeout=TIMEOUT_MS)
    expect(page.get_by_role("region", name="Trends").locator("figure:has(canvas)")).to_have_count(TRENDS, timeout=TIMEOUT_MS)


def _rows(page: Page) -> Locator:
    """Of the history, without what is opened behind them."""
    return page.get_by_role("region", name="History").locator("tr.RaDataTable-clickableRow")


def _open_detail(page: Page) -> None:
    """Of the checkpoint that is in progress, most of the time."""
    _rows(page).first.locator("td").nth(2).click()
    detail = page.get_by_role("region", name="Checkpoint")
    expect(detail.get_by_role("region", name="Operators").locator("tbody tr")).to_have_count(CHAINS, timeout=TIMEOUT_MS)


def _backpressure(page: Page) -> None:
    expect(page.locator(CELL)).to_have_count(SUBTASKS, timeout=TIMEOUT_MS)
    expect(page.locator("figure:has(canvas)")).to_have_count(OVER_TIME, timeout=TIMEOUT_MS)


def _another_measure(page: Page) -> None:
    page.get_by_role("button", name="Busy", exact=True).click()
    expect(page.locator(CELL).last).to_have_attribute("aria-label", re.compile("busy$"), timeout=TIMEOUT_MS)


def _choose_subtask(page: Page) -> None:
    page.locator(CELL).nth(3).click()
    expect(page.get_by_role("heading", name="[3]")).to_have_count(1, timeout=TIMEOUT_MS)


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
