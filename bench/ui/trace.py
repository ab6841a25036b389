"""CPU time of the tasks of a page's main thread, from a trace of the browser.

The browser reports the wall time of long tasks, which includes time in which other processes had the CPU core.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

CATEGORIES = ("-*", "disabled-by-default-devtools.timeline", "blink.user_timing")
"""The smallest set of categories that contains tasks and the marks of the benchmark."""
DETAILED = (*CATEGORIES, "devtools.timeline", "disabled-by-default-v8.cpu_profiler")
"""The categories that the performance panel of a browser shows."""
_PAGE_THREAD = "CrRendererMain"
_TASK = "RunTask"


@dataclass(frozen=True, slots=True)
class Task:
    """``at_us``: start of the task, by the clock of the trace."""

    at_us: int
    cpu_us: int


@dataclass(frozen=True, slots=True)
class Trace:
    """The tasks of one page, and the time of each mark in microseconds."""

    tasks: Sequence[Task]
    marks: dict[str, int]

    def task_cpu_ms(self, begin: str, end: str) -> list[float]:
        """Return the CPU time of each task between two marks, longest first."""
        from_us, to_us = self.marks[begin], self.marks[end]
        found = [one.cpu_us / 1000 for one in self.tasks if from_us <= one.at_us < to_us]
        return sorted(found, reverse=True)


def read_trace(traced: bytes, mark: str) -> Trace:
    """``mark`` identifies the page, because only the main thread of that page has set this mark. Other pages have threads with
    the same name."""
    events: list[dict[str, Any]] = json.loads(traced)["traceEvents"]
    page = next((one["pid"], one["tid"]) for one in events if one["name"] == mark)
    names = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["ph"] == "M" and one["name"] == "thread_name"}
    assert names.get(page, _PAGE_THREAD) == _PAGE_THREAD, (
        f"the mark must come from the thread {_PAGE_THREAD}, not from {names[page]}"
    )
    own = [one for one in events if (one["pid"], one.get("tid")) == page]
    tasks = [Task(one["ts"], one.get("tdur", one["dur"])) for one in own if one["ph"] == "X" and one["name"] == _TASK]
    marks = {one["name"]: one["ts"] for one in own if "blink.user_timing" in one.get("cat", "")}
    return Trace(tasks, marks)
