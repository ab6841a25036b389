"""Measures whether the pages of a job with 200 operators of 8 subtasks stay responsive. Opens and uses each tab, and counts its
long tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Page

from bench.platform.results import Aim, Measurement, Value
from bench.ui.page_probe import LONG_MS, PageErrors, ProbeReading, now_ms, read_probe
from bench.ui.tabs import TABS, TIMEOUT_MS, Tab
from bench.ui.trace import CATEGORIES, DETAILED, Trace, read_trace

SETTLE_MS = 1_500
"""The benchmark waits this long after each user action, and assumes that the result is then completely drawn."""
MESSAGES_PER_S_MIN = 8.0
"""A measurement is invalid if fewer messages per second arrive. The expected number is ten messages per second."""
AIM = f"no task over {LONG_MS:.0f} ms"
AIM_SHARED = f"{AIM} of CPU time"
"""The target if the browser shares its cores with a platform. CPU time excludes the time in which a task waits for a core."""


@dataclass(frozen=True, slots=True)
class TabPhase:
    """A part of the measurement of a tab. ``before``, ``after``: what the page has measured when the part begins and ends."""

    name: str
    before: ProbeReading
    after: ProbeReading
    more: dict[str, Value] = field(default_factory=dict)
    wrong: str | None = None


def measure(browser: Browser, page: Page, part: str, idle_url: str, seconds: float, traces: Path | None) -> Iterator[Measurement]:
    """Yield one measurement per phase of each tab, for ``combine_rounds``.

    ``page``: a page of a logged-in user. ``idle_url``: address of a page without live updates. ``traces``: directory for
    detailed traces, or None.
    """
    errors = PageErrors()
    errors.collect(page)
    for tab in TABS:
        page.goto(idle_url)
        page.locator(_link(tab)).wait_for(timeout=TIMEOUT_MS)
        page.wait_for_timeout(SETTLE_MS)
        path = traces / f"ui-{part}-{tab.name}.json" if traces is not None else None
        browser.start_tracing(page=page, path=path, categories=list(CATEGORIES if path is None else DETAILED))
        phases = list(_phases(page, tab, seconds, errors))
        trace = read_trace(browser.stop_tracing(), phases[0].before.mark)
        yield from (_measured(part, one, trace) for one in phases)


def combine_rounds(rounds: Sequence[Sequence[Measurement]], *, shared: bool) -> list[Measurement]:
    """Combine the measurements of each phase over all rounds. The target is met if most rounds have no long task.

    ``shared``: whether the browser shares its cores with a platform. If the cores are shared, the target limits CPU time instead
    of wall time.
    """
    return [_combine(phase, shared=shared) for phase in zip(*rounds, strict=True)]


def _phases(page: Page, tab: Tab, seconds: float, errors: PageErrors) -> Iterator[TabPhase]:
    before = read_probe(page)
    page.locator(_link(tab)).click()
    tab.wait_drawn(page)
    drawn_ms = now_ms(page)
    page.wait_for_timeout(SETTLE_MS)
    after = read_probe(page)
    yield TabPhase(f"{tab.name}: open", before, after, {"drawn_after_ms": drawn_ms - before.now_ms})
    for action in tab.actions:
        before = read_probe(page)
        action.do(page)
        page.wait_for_timeout(SETTLE_MS)
        yield TabPhase(f"{tab.name}: {action.name}", before, read_probe(page))
    before = read_probe(page)
    page.wait_for_timeout(seconds * 1000)
    after = read_probe(page)
    per_s = (after.messages - before.messages) / (after.now_ms - before.now_ms) * 1000
    too_few = f"only {per_s:.1f} messages per second arrived" if per_s < MESSAGES_PER_S_MIN else None
    yield TabPhase(f"{tab.name}: at rest", before, after, {"messages_per_s": per_s}, errors.message or too_few)


def _link(tab: Tab) -> str:
    return f"nav[aria-label='About this job'] a:text-is('{tab.label}')"


def _measured(part: str, phase: TabPhase, trace: Trace) -> Measurement:
    before, after = phase.before, phase.after
    found = after.tasks_between(before.now_ms, after.now_ms)
    longest = max(found, key=lambda one: one.took_ms, default=None)
    cpu_ms = trace.task_cpu_ms(before.mark, after.mark)
    values: dict[str, Value] = {
        "seconds": (after.now_ms - before.now_ms) / 1000,
        "tasks": len(found),
        "longest_ms": longest.took_ms if longest else None,
        "all_ms": sum(one.took_ms for one in found),
        "cpu_tasks": sum(one > LONG_MS for one in cpu_ms),
        "cpu_longest_ms": max(cpu_ms, default=0.0),
        "slowest_answer_ms": max((took for at, took, _ in after.events if at >= before.now_ms), default=None),
        **phase.more,
        "why": longest.why if longest else None,
    }
    return Measurement(part, phase.name, values, wrong=phase.wrong)


def _combine(phase: Sequence[Measurement], *, shared: bool) -> Measurement:
    def all_of(name: str) -> list[Any]:
        return [value for one in phase if (value := one.values.get(name)) is not None]

    longest = max(phase, key=lambda one: float(one.values["longest_ms"] or 0))
    over = sum(count > 0 for count in all_of("tasks"))
    cpu_over = sum(count > 0 for count in all_of("cpu_tasks"))
    values: dict[str, Value] = {
        "rounds": len(phase),
        "rounds_over": over,
        "longest_ms": longest.values["longest_ms"],
        "cpu_rounds_over": cpu_over,
        "cpu_longest_ms": max(all_of("cpu_longest_ms")),
        "slowest_answer_ms": max(all_of("slowest_answer_ms"), default=None),
        "why": longest.values["why"],
    }
    for name in ("drawn_after_ms", "messages_per_s"):
        if found := all_of(name):
            values[name] = median(found)
    aim = AIM_SHARED if shared else AIM
    met = 2 * (cpu_over if shared else over) < len(phase)
    wrong = "; ".join(dict.fromkeys(one.wrong for one in phase if one.wrong is not None)) or None
    return Measurement(phase[0].part, phase[0].what, values, Aim(aim if len(phase) == 1 else f"{aim} in most rounds", met), wrong)
