"""The inside of a slot's Spark task, up to the door of Weir's own loop. Runs in the Python worker of an executor."""

from __future__ import annotations

import importlib
import os
import socket
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

from weir.errors import WeirError
from weir.protocol.bootstrap import SlotBootstrap, SparkPlace

SlotMain: TypeAlias = Callable[[SlotBootstrap, int, SparkPlace], None]
"""(bootstrap, index of the Spark task, place). Returns when the slot is no longer wanted."""

Entry: TypeAlias = str | SlotMain
"""``module:function`` imported in the worker, or the function itself, shipped with the task."""


@dataclass(frozen=True, slots=True)
class SlotEnd:
    """How ``SlotMain`` ended. ``error``: what it raised, in a line; None: it returned."""

    error: str | None
    trace: str = ""
    """Where it was raised, for a log."""


def run_slot_task(entry: Entry, bootstrap: SlotBootstrap, index: int, rows: Iterable[int]) -> Iterator[SlotEnd]:
    """The function of the one partition of a slot's Spark job; yields once, at the end of the slot.

    An exception is a result like any other here. Raised, it would make Spark start the slot again by itself, with the
    same error, and hide it from the driver until the last attempt.
    """
    for _ in rows:
        pass
    try:
        resolve(entry)(bootstrap, index, place())
    except Exception as error:  # noqa: BLE001  # whatever it is, the driver is told
        yield SlotEnd(error=_in_a_line(error), trace=traceback.format_exc(limit=-30))
    else:
        yield SlotEnd(error=None)


def _in_a_line(error: Exception) -> str:
    """What Weir raises on purpose says all there is to say. Of anything else, where it came up is half of it."""
    if isinstance(error, WeirError):
        return str(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}"
    return f"{type(error).__name__}: {error} ({place})"


def resolve(entry: Entry) -> SlotMain:
    if not isinstance(entry, str):
        return entry
    module, _, name = entry.partition(":")
    return cast(SlotMain, getattr(importlib.import_module(module), name))


def place() -> SparkPlace:
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise AssertionError("a slot runs inside a Spark task")
    host = socket.gethostname()
    return SparkPlace(
        spark_task=context.taskAttemptId(), attempt=context.attemptNumber(), executor=f"{host}/{_executor_pid()}", host=host
    )


def _executor_pid() -> int:
    """This process was forked by Spark's Python daemon, and that by the executor's JVM."""
    daemon = os.getppid()
    try:
        with open(f"/proc/{daemon}/stat") as stat:
            return int(stat.read().rpartition(")")[2].split()[1])
    except OSError:
        return daemon  # No /proc: one daemon an executor is just as good a name.


def touch(rows: Iterable[int]) -> Iterable[int]:
    """The function of a warm-up task: being run, with all that is loaded for it, is its work."""
    return rows
