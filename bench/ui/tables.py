"""Measurements of the interface for people: a line for each as it comes, tables at the end."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from bench.platform import result_tables
from bench.platform.results import Measurement

SMOOTH = (
    "rounds", "rounds_over", "tasks", "longest_ms", "all_ms", "processor_rounds_over", "processor_tasks", "processor_longest_ms", "drawn_after_ms",
    "slowest_answer_ms", "messages_per_s",
)  # fmt: skip
SHOWN = {
    "first-page": ("median_ms", "least_ms", "most_ms", "paint_ms", "longest_task_ms", "scripts_kb", "all_kb"),
    "invented": SMOOTH,
    "real": SMOOTH,
}
"""What the tables show of each part; the rest is in the file."""


def line(one: Measurement) -> str:
    return result_tables.line(one, SHOWN)


def show(measured: Sequence[Measurement], console: Console) -> None:
    result_tables.show(measured, console, SHOWN)
    rounds, over, ours = (_sum(measured, name) for name in ("rounds", "rounds_over", "processor_rounds_over"))
    if over:
        console.print(
            f"{over} of {rounds} times there was a long task, {ours} times one that needed so long of the processor; the others waited for it: "
            "was the machine busy?"
        )


def _sum(measured: Sequence[Measurement], name: str) -> int:
    return sum(value for one in measured if isinstance(value := one.values.get(name), int))
