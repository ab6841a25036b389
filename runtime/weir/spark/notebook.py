"""A JobRun in a notebook: HTML without scripts, and a progress line that is updated in place. IPython is used if it is there, and
is not a dependency of Weir."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

REFRESH_S = 1.0
_SHOWN = 5
"""The number of newest checkpoints in the table."""
# All colours are inherited or translucent, so the same HTML is readable on dark and light backgrounds.
_BOX = "border:1px solid rgba(128,128,128,.5);border-radius:6px;padding:.6em .9em;display:inline-block;font-family:inherit"
_CELL = "padding:.1em .9em .1em 0;text-align:right;background:transparent"
_HEADINGS = ("Checkpoint", "Kind", "Completed (UTC)", "Duration", "State size", "Records", "Records/s")


def render(name: str, message: str, recent: Sequence[Mapping[str, Any]]) -> str:
    """Return the HTML of a JobRun. ``message`` is the message of its ``status``, and ``recent`` its ``recent_progress``."""
    shown = escape(" · ".join(part for part in message.split("  ") if part))
    parts = [f"<b>{escape(name)}</b><div style='font-variant-numeric:tabular-nums'>{shown}</div>"]
    if recent:
        head = "".join(f"<th scope='col' style='{_CELL}'>{heading}</th>" for heading in _HEADINGS)
        rows = "".join(f"<tr style='background:transparent'>{_row(entry)}</tr>" for entry in reversed(recent[-_SHOWN:]))
        parts.append(f"<table style='border-collapse:collapse;margin:.5em 0 0'><tr>{head}</tr>{rows}</table>")
    return f"<div style='{_BOX}'>{''.join(parts)}</div>"


def _row(entry: Mapping[str, Any]) -> str:
    values = (
        entry["checkpoint"],
        entry["kind"],
        entry["timestamp"][11:19],
        f"{entry['duration_ms']:,} ms",
        f"{entry['state_bytes'] / 1e6:,.1f} MB",
        f"{entry['records']:,}",
        f"{entry['records_per_s']:,}",
    )
    return "".join(f"<td style='{_CELL}'>{escape(str(value))}</td>" for value in values)


@contextmanager
def live_line() -> Iterator[Callable[[str], None] | None]:
    """Yield a function that shows a line in place of the line before, or None outside a notebook."""
    if not _in_notebook():
        yield None
        return
    from IPython.display import display

    handle = display({"text/plain": ""}, raw=True, display_id=True)
    shown = ""

    def show(line: str) -> None:
        nonlocal shown
        if line != shown:
            shown = line
            handle.update({"text/plain": line}, raw=True)

    yield show


def display_until(run: Any, ended: Callable[[], bool], wait: Callable[[float], None]) -> None:
    """Display ``run`` (a JobRun). In a notebook, update the display in place until ``ended()`` returns True. ``wait(seconds)``
    returns early at the end of the job."""
    if not _in_notebook():
        print(repr(run))
        return
    from IPython.display import display

    handle = display(_bundle(run), raw=True, display_id=True)
    if ended():
        return

    def update() -> None:
        while not ended():
            wait(REFRESH_S)
            handle.update(_bundle(run), raw=True)

    threading.Thread(target=update, name="weir-display", daemon=True).start()


def _bundle(run: Any) -> dict[str, str]:
    return {"text/plain": repr(run), "text/html": run._repr_html_()}


def _in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook. A terminal cannot update a display in place."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None
