"""Console output: one line per measurement as it completes, tables at the end."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from bench.platform import result_tables
from bench.platform.results import Measurement

SMOOTH = (
    "rounds", "rounds_over", "tasks", "longest_ms", "all_ms", "cpu_rounds_over", "cpu_tasks", "cpu_longest_ms", "drawn_after_ms",
    "slowest_answer_ms", "messages_per_s",
)  # fmt: skip
SHOWN = {
    "first-page": ("median_ms", "least_ms", "most_ms", "paint_ms", "longest_task_ms", "scripts_kb", "all_kb"),
    "simulated": SMOOTH,
    "real": SMOOTH,
}
"""The columns of each part's table. The result file has all values."""


def line(one: Measurement) -> str:
    return result_tables.line(one, SHOWN)


def show(measured: Sequence[Measurement], console: Console) -> None:
    result_tables.show(measured, console, SHOWN)
    rounds, over, cpu_over = (_sum(measured, name) for name in ("rounds", "rounds_over", "cpu_rounds_over"))
    if over:
        console.print(
            f"{over} of {rounds} measurements had a task that took too long. "
            f"In {cpu_over} of these {over} measurements, a task used too much CPU time. "
            "A long task that used little CPU time waited for a core, because other processes used the machine."
        )


def _sum(measured: Sequence[Measurement], name: str) -> int:
    return sum(value for one in measured if isinstance(value := one.values.get(name), int))
