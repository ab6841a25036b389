"""Console output: one line per measurement as it completes, tables at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from bench.platform.results import Measurement, Value

SHOWN = {
    "reading": ("requests", "p50_ms", "p95_ms", "p99_ms", "api_cpu_ms", "postgres_cpu_ms", "slowest", "slowest_p95_ms"),
    "ingest": (
        "events_per_s", "events_per_batch", "request_p95_ms", "late_s", "api_cores", "postgres_cores", "api_cpu_s_per_1000",
        "postgres_cpu_s_per_1000",
    ),
    "streams": (
        "events_per_s", "told_per_s", "delay_p50_ms", "delay_p99_ms", "api_cores", "postgres_cores", "api_rss_mb", "api_rss_open_mb",
        "api_rss_after_mb",
    ),
    "mix": (
        "events_per_s", "late_s", "told_per_s", "delay_p50_ms", "delay_p99_ms", "read_requests", "read_p50_ms", "read_p95_ms",
        "api_cores", "postgres_cores",
    ),
    "growth": (
        "rows", "rows_per_s", "rows_per_s_in_rounds", "bite_p50_ms", "bite_first_ms", "bite_last_ms", "table_mb", "rows_made_per_s",
        "rows_most", "rows_last", "rows_expected_at_most",
    ),
    "month": (
        "rows", "rows_per_s", "seconds", "passes", "pass_p50_ms", "pass_max_s", "table_mb", "index_mb", "requests", "p50_ms", "p95_ms",
        "slowest", "slowest_p95_ms",
    ),
}  # fmt: skip
"""The columns of each part's table. The result file has all values."""


def line(one: Measurement, columns: Mapping[str, Sequence[str]] = SHOWN) -> str:
    shown = columns.get(one.part, tuple(one.values))
    values = ", ".join(f"{name} {text_of(one.values[name])}" for name in shown if one.values.get(name) is not None)
    parts = [f"{one.part}: {one.what}: {values}"]
    if one.aim is not None:
        parts.append(verdict(one))
    if one.values.get("why"):
        parts.append(f"longest task: {one.values['why']}")
    if one.wrong is not None:
        parts.append(f"WRONG: {one.wrong}")
    return "   ".join(parts)


def show(measured: Sequence[Measurement], console: Console, columns: Mapping[str, Sequence[str]] = SHOWN) -> None:
    """Print a table per part with the given columns, then all errors."""
    for part, names in columns.items():
        own = [one for one in measured if one.part == part]
        used = [name for name in names if any(one.values.get(name) is not None for one in own)]
        if not used:
            continue
        table = Table(title=part)
        table.add_column("what")
        for name in (*used, "load"):
            table.add_column(name, justify="left" if name == "slowest" else "right")
        table.add_column("target")
        for one in own:
            if one.values.keys() & set(used):
                shown = [text_of(one.values.get(name)) for name in used]
                table.add_row(one.what, *shown, f"{one.load:.1f}", verdict(one) if one.aim is not None else "")
        console.print(table, markup=False)
    for one in measured:
        if one.wrong is not None:
            console.print(f"WRONG {one.part}, {one.what}: {one.wrong}", style="red", markup=False)


def verdict(one: Measurement) -> str:
    assert one.aim is not None
    if one.aim.met is None:
        return f"{one.aim.text}: not judged, too few measurements"
    return f"{one.aim.text}: {'met' if one.aim.met else 'not met'}"


def text_of(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"
    return f"{value:,}" if type(value) is int else str(value)
