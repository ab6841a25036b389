"""How much processor time the page's own thread needed for its tasks, from a trace of the browser. A long task is wall time: where others
have the processor meanwhile it is longer than the page's own work."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

CATEGORIES = ("-*", "disabled-by-default-devtools.timeline", "blink.user_timing")
"""As little as there may be: tasks, and the moments that the benchmark marks."""
DETAILED = (*CATEGORIES, "devtools.timeline", "disabled-by-default-v8.cpu_profiler")
"""What the performance panel of a browser shows."""
_PAGE_THREAD = "CrRendererMain"
_TASK = "RunTask"


@dataclass(frozen=True, slots=True)
class Task:
    """Microseconds of the trace's clock."""

    at_us: int
    took_us: int
    processor_us: int


@dataclass(frozen=True, slots=True)
class Trace:
    """Of one page: its tasks, and when each of the named moments was."""

    tasks: Sequence[Task]
    marks: dict[str, int]

    def processor_ms(self, begin: str, end: str) -> list[float]:
        """Of each task between two moments, the most costly first."""
        from_us, to_us = self.marks[begin], self.marks[end]
        found = [one.processor_us / 1000 for one in self.tasks if from_us <= one.at_us < to_us]
        return sorted(found, reverse=True)


def read(traced: bytes, first: str) -> Trace:
    """``first``: a moment that was marked by the page that is meant; there are other threads of that name."""
    events: list[dict[str, Any]] = json.loads(traced)["traceEvents"]
    page = next((one["pid"], one["tid"]) for one in events if one["name"] == first)
    names = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["ph"] == "M" and one["name"] == "thread_name"}
    assert names.get(page, _PAGE_THREAD) == _PAGE_THREAD, f"moments are marked by {names[page]}"
    own = [one for one in events if (one["pid"], one.get("tid")) == page]
    tasks = [Task(one["ts"], one["dur"], one.get("tdur", one["dur"])) for one in own if one["ph"] == "X" and one["name"] == _TASK]
    marks = {one["name"]: one["ts"] for one in own if "blink.user_timing" in one.get("cat", "")}
    return Trace(tasks, marks)
