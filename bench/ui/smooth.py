"""Whether a job of 200 operators x 8 subtasks stays smooth: each tab opened, used and watched, all by what the browser itself measures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page

from bench.platform.results import Aim, Measurement, Value
from bench.ui.tabs import TABS, TIMEOUT_MS, Tab
from bench.ui.watching import LONG_MS, Seen, Trouble, look, now_ms

SETTLE_MS = 1_500
"""What comes of something that somebody did is drawn within it, charts and all."""
TEXTS_PER_S_MIN = 5.0
"""Of less than half of ten a second nothing would be learned about ten a second."""
AIM = f"no task over {LONG_MS:.0f} ms"
_CATEGORIES = [
    "-*",
    "devtools.timeline",
    "disabled-by-default-devtools.timeline",
    "disabled-by-default-v8.cpu_profiler",
    "blink.user_timing",
]


def measure(page: Page, part: str, quiet: str, plan_seconds: float, trace: Path | None) -> Iterator[Measurement]:
    """``quiet``: address of a tab of the job that is not drawn all the time. ``page``: of somebody who is logged in."""
    trouble = Trouble()
    trouble.watch(page)
    for tab in TABS:
        page.goto(quiet)
        page.locator(_link(tab)).wait_for(timeout=TIMEOUT_MS)
        page.wait_for_timeout(SETTLE_MS)
        browser = page.context.browser
        if trace is not None and browser is not None:
            browser.start_tracing(page=page, path=trace / f"ui-{part}-{tab.name}.json", categories=_CATEGORIES)
        yield from _one(page, part, tab, plan_seconds, trouble)
        if trace is not None and browser is not None:
            browser.stop_tracing()


def _one(page: Page, part: str, tab: Tab, seconds: float, trouble: Trouble) -> Iterator[Measurement]:
    before = look(page)
    page.locator(_link(tab)).click()
    tab.drawn(page)
    drawn_ms = now_ms(page)
    page.wait_for_timeout(SETTLE_MS)
    seen = look(page)
    yield _told(part, f"{tab.name}: first drawing", before, seen, {"drawn_after_ms": drawn_ms - before.now_ms})
    for move in tab.moves:
        before = look(page)
        move.do(page)
        page.wait_for_timeout(SETTLE_MS)
        yield _told(part, f"{tab.name}: {move.what}", before, look(page), {})
    before = look(page)
    page.wait_for_timeout(seconds * 1000)
    seen = look(page)
    per_s = (seen.texts - before.texts) / (seen.now_ms - before.now_ms) * 1000
    too_few = f"only {per_s:.1f} messages a second have come" if per_s < TEXTS_PER_S_MIN else None
    yield _told(part, f"{tab.name}: watched", before, seen, {"messages_per_s": per_s}, wrong=trouble.wrong or too_few)


def _link(tab: Tab) -> str:
    return f"nav[aria-label='About this job'] a:text-is('{tab.label}')"


def _told(part: str, what: str, before: Seen, after: Seen, more: dict[str, Value], *, wrong: str | None = None) -> Measurement:
    found = after.between(before.now_ms, after.now_ms)
    longest = max(found, key=lambda one: one.took_ms, default=None)
    slowest = max((took for at, took, _ in after.events if at >= before.now_ms), default=None)
    values: dict[str, Value] = {
        "seconds": (after.now_ms - before.now_ms) / 1000,
        "tasks": len(found),
        "longest_ms": longest.took_ms if longest else None,
        "all_ms": sum(one.took_ms for one in found),
        "slowest_answer_ms": slowest,
        **more,
        "why": longest.why if longest else None,
    }
    return Measurement(part, what, values, Aim(AIM, not found), wrong)
