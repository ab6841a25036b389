"""Whether a job of 200 operators x 8 subtasks stays smooth: each tab opened, used and watched, all by what the browser itself measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Page

from bench.platform.results import Aim, Measurement, Value
from bench.ui import processor
from bench.ui.processor import CATEGORIES, DETAILED, Trace
from bench.ui.tabs import TABS, TIMEOUT_MS, Tab
from bench.ui.watching import LONG_MS, Seen, Trouble, look, now_ms

SETTLE_MS = 1_500
"""What comes of something that somebody did is drawn within it, charts and all."""
TEXTS_PER_S_MIN = 8.0
"""Of much less than ten a second nothing would be learned about ten a second."""
AIM = f"no task over {LONG_MS:.0f} ms"
AIM_SHARED = f"{AIM} of the processor"
"""Where a whole platform computes on the same two cores: how long a task has to wait for one of them says nothing about the page."""


@dataclass(frozen=True, slots=True)
class TabPhase:
    """Of a tab, between two looks at it."""

    what: str
    before: Seen
    after: Seen
    more: dict[str, Value] = field(default_factory=dict)
    wrong: str | None = None


def measure(browser: Browser, page: Page, part: str, quiet: str, seconds: float, traces: Path | None) -> Iterator[Measurement]:
    """``quiet``: address of a tab of the job that is not drawn all the time. ``page``: of somebody who is logged in. ``traces``: where
    detailed ones are kept, if any. What comes of it is for ``judged``."""
    trouble = Trouble()
    trouble.watch(page)
    for tab in TABS:
        page.goto(quiet)
        page.locator(_link(tab)).wait_for(timeout=TIMEOUT_MS)
        page.wait_for_timeout(SETTLE_MS)
        kept = traces / f"ui-{part}-{tab.name}.json" if traces is not None else None
        browser.start_tracing(page=page, path=kept, categories=list(CATEGORIES if kept is None else DETAILED))
        phases = list(_phases(page, tab, seconds, trouble))
        trace = processor.read(browser.stop_tracing(), phases[0].before.mark)
        yield from (_measured(part, one, trace) for one in phases)


def judged(rounds: Sequence[Sequence[Measurement]], *, shared: bool) -> list[Measurement]:
    """Of the same phases, measured several times: a task that is long in one round, and not in most, waited for a processor that others had."""
    return [_judged(phase, shared=shared) for phase in zip(*rounds, strict=True)]


def _phases(page: Page, tab: Tab, seconds: float, trouble: Trouble) -> Iterator[TabPhase]:
    before = look(page)
    page.locator(_link(tab)).click()
    tab.drawn(page)
    drawn_ms = now_ms(page)
    page.wait_for_timeout(SETTLE_MS)
    after = look(page)
    yield TabPhase(f"{tab.name}: first drawing", before, after, {"drawn_after_ms": drawn_ms - before.now_ms})
    for move in tab.moves:
        before = look(page)
        move.do(page)
        page.wait_for_timeout(SETTLE_MS)
        yield TabPhase(f"{tab.name}: {move.what}", before, look(page))
    before = look(page)
    page.wait_for_timeout(seconds * 1000)
    after = look(page)
    per_s = (after.texts - before.texts) / (after.now_ms - before.now_ms) * 1000
    too_few = f"only {per_s:.1f} messages a second have come" if per_s < TEXTS_PER_S_MIN else None
    yield TabPhase(f"{tab.name}: watched", before, after, {"messages_per_s": per_s}, trouble.wrong or too_few)


def _link(tab: Tab) -> str:
    return f"nav[aria-label='About this job'] a:text-is('{tab.label}')"


def _measured(part: str, phase: TabPhase, trace: Trace) -> Measurement:
    before, after = phase.before, phase.after
    found = after.between(before.now_ms, after.now_ms)
    longest = max(found, key=lambda one: one.took_ms, default=None)
    processor_ms = trace.processor_ms(before.mark, after.mark)
    needed = sum(one > LONG_MS for one in processor_ms)
    values: dict[str, Value] = {
        "seconds": (after.now_ms - before.now_ms) / 1000,
        "tasks": len(found),
        "longest_ms": longest.took_ms if longest else None,
        "all_ms": sum(one.took_ms for one in found),
        "processor_tasks": needed,
        "processor_longest_ms": max(processor_ms, default=0.0),
        "slowest_answer_ms": max((took for at, took, _ in after.events if at >= before.now_ms), default=None),
        **phase.more,
        "why": longest.why if longest else None,
    }
    return Measurement(part, phase.what, values, wrong=phase.wrong)


def _judged(phase: Sequence[Measurement], *, shared: bool) -> Measurement:
    def all_of(name: str) -> list[Any]:
        return [value for one in phase if (value := one.values.get(name)) is not None]

    longest = max(phase, key=lambda one: float(one.values["longest_ms"] or 0))
    over = sum(count > 0 for count in all_of("tasks"))
    processor_over = sum(count > 0 for count in all_of("processor_tasks"))
    values: dict[str, Value] = {
        "rounds": len(phase),
        "rounds_over": over,
        "longest_ms": longest.values["longest_ms"],
        "processor_rounds_over": processor_over,
        "processor_longest_ms": max(all_of("processor_longest_ms")),
        "slowest_answer_ms": max(all_of("slowest_answer_ms"), default=None),
        "why": longest.values["why"],
    }
    for name in ("drawn_after_ms", "messages_per_s"):
        if found := all_of(name):
            values[name] = median(found)
    aim = AIM_SHARED if shared else AIM
    met = 2 * (processor_over if shared else over) < len(phase)
    wrong = "; ".join(dict.fromkeys(one.wrong for one in phase if one.wrong is not None)) or None
    return Measurement(phase[0].part, phase[0].what, values, Aim(aim if len(phase) == 1 else f"{aim} in most rounds", met), wrong)
