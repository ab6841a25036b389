"""The Spark task in which a slot runs. The task runs in the Python worker of an executor and starts Weir's own loop."""

from __future__ import annotations

import importlib
import os
import socket
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

from weir.errors import WeirError
from weir.protocol.bootstrap import SlotBootstrap, SparkTaskInfo
from weir.spark.daemon import set_kernel_cache

SlotMain: TypeAlias = Callable[[SlotBootstrap, int, SparkTaskInfo], None]
"""Runs a slot until it ends. The arguments are the bootstrap, the index of the Spark task, and the ids and host of the Spark
task."""

SlotEntryPoint: TypeAlias = str | SlotMain
"""The function that runs the slot. An entry point is either a name ``module:function``, which the worker imports, or a function
that is pickled with the task."""


@dataclass(frozen=True, slots=True)
class SlotEnd:
    """The way in which ``SlotMain`` ended. ``error`` is the raised error in one line, or None if ``SlotMain`` returned."""

    error: str | None
    trace: str = ""
    """The traceback, for the log."""


def run_slot_task(entry: SlotEntryPoint, bootstrap: SlotBootstrap, index: int, rows: Iterable[int]) -> Iterator[SlotEnd]:
    """The function that Spark runs on the only partition of a slot's Spark job. The function yields once, when the slot ends.

    An exception of the slot is returned as a result. If the exception were raised, Spark would restart the slot, which would
    fail again. The driver would see the error only after the last attempt.
    """
    for _ in rows:
        pass
    set_kernel_cache()  # in an existing session, Spark uses its own daemon, which does not set the directory
    try:
        resolve(entry)(bootstrap, index, current_spark_task())
    except Exception as error:  # noqa: BLE001  # any error is reported to the driver
        yield SlotEnd(error=_one_line(error), trace=traceback.format_exc(limit=-30))
    else:
        yield SlotEnd(error=None)


def _one_line(error: Exception) -> str:
    """Return an error in one line. For an unexpected error, add the location where it was raised. Weir's own errors need no
    location."""
    if isinstance(error, WeirError):
        return str(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    location = f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}"
    return f"{type(error).__name__}: {error} ({location})"


def resolve(entry: SlotEntryPoint) -> SlotMain:
    if not isinstance(entry, str):
        return entry
    module, _, name = entry.partition(":")
    return cast(SlotMain, getattr(importlib.import_module(module), name))


def current_spark_task() -> SparkTaskInfo:
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise AssertionError("a slot runs inside a Spark task")
    host = socket.gethostname()
    return SparkTaskInfo(
        spark_task=context.taskAttemptId(), attempt=context.attemptNumber(), executor=f"{host}/{_executor_pid()}", host=host
    )


def _executor_pid() -> int:
    """Return the pid of the executor's JVM. The JVM started Spark's Python daemon, which forked this process."""
    daemon = os.getppid()
    try:
        with open(f"/proc/{daemon}/stat") as stat:
            return int(stat.read().rpartition(")")[2].split()[1])
    except OSError:
        return daemon  # Without /proc, use the pid of the daemon, because each executor has exactly one daemon.


def touch_rows(rows: Iterable[int]) -> Iterable[int]:
    """The function of a warm-up task. The function does nothing, but Spark loads the Python worker to run it."""
    return rows
