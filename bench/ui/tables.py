"""Measurements of the interface for people: a line for each as it comes, tables at the end."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from bench.platform.results import Measurement
from bench.platform.tables import text_of, verdict

SMOOTH = (
    "tasks", "longest_ms", "all_ms", "processor_tasks", "processor_longest_ms", "drawn_after_ms", "slowest_answer_ms", "messages_per_s",
)  # fmt: skip
SHOWN = {
    "first-page": ("median_ms", "least_ms", "most_ms", "paint_ms", "longest_task_ms", "scripts_kb", "all_kb"),
    "invented": SMOOTH,
    "real": SMOOTH,
}
"""What the tables show of each part; the rest is in the file."""


def line(one: Measurement) -> str:
    values = ", ".join(f"{name} {text_of(one.values[name])}" for name in SHOWN[one.part] if one.values.get(name) is not None)
    parts = [f"{one.part}: {one.what}: {values}"]
    if one.aim is not None:
        parts.append(verdict(one))
    if one.values.get("why"):
        parts.append(f"the longest: {one.values['why']}")
    if one.wrong is not None:
        parts.append(f"WRONG: {one.wrong}")
    return "   ".join(parts)


def show(measured: Sequence[Measurement], console: Console) -> None:
    for part, columns in SHOWN.items():
        own = [one for one in measured if one.part == part]
        used = [name for name in columns if any(one.values.get(name) is not None for one in own)]
        if not own:
            continue
        table = Table(title=part)
        table.add_column("what")
        for name in (*used, "load"):
            table.add_column(name, justify="right")
        table.add_column("aim")
        for one in own:
            table.add_row(
                one.what, *(text_of(one.values.get(name)) for name in used), f"{one.load:.1f}", verdict(one) if one.aim else ""
            )
        console.print(table, markup=False)
    long, ours = _sum(measured, "tasks"), _sum(measured, "processor_tasks")
    if long:
        console.print(
            f"{long} long tasks; {ours} tasks needed so long of the processor, the others waited for it: was the machine busy?"
        )
    for one in measured:
        if one.wrong is not None:
            console.print(f"WRONG {one.part}, {one.what}: {one.wrong}", style="red", markup=False)


def _sum(measured: Sequence[Measurement], name: str) -> int:
    return sum(value for one in measured if isinstance(value := one.values.get(name), int))
