"""The pool of slots: long-lived Spark tasks, each a Spark job of its own, started again for as long as the pool is open.

One job a slot, because a job is what Spark can lose, cancel and start alone. In a common job the loss of one slot too
often would end them all, and in a barrier stage any loss would.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import structlog
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import InheritableThread
from pyspark.sql import SparkSession

from weir.errors import SlotError
from weir.protocol.bootstrap import SlotBootstrap
from weir.spark.capacity import Capacity, await_capacity
from weir.spark.restarts import Ending, GiveUp, Restarts
from weir.spark.settings import is_local
from weir.spark.task import Entry, SlotEnd, run_slot_task, touch

ENTRY = "weir.subtask.process:run_slot"
log = structlog.get_logger(__name__)

_REASON_CHARS_MAX = 4_000
_CANCEL_S = 10.0


@dataclass(frozen=True, slots=True)
class SlotLoss:
    """The Spark job of slot ``index`` ended while the pool was open. Spark's own quick restarts are not in here."""

    index: int
    ending: Ending
    reason: str
    lived_s: float


class SlotPool:
    """Call order: start -> report_failures -> release (the job is over; tell the slots to stop) -> close. All from one thread.

    ``on_loss(loss)`` is called for every job that ended early and is submitted again. Who is told of failures is named by
    ``report_failures``. Both are called by threads of the pool, and must not block.
    """

    def __init__(
        self,
        spark: SparkSession,
        slots: int,
        bootstrap: SlotBootstrap,
        *,
        spares: int = 0,
        entry: Entry = ENTRY,
        on_loss: Callable[[SlotLoss], None] = lambda loss: None,
        on_failure: Callable[[SlotError], None] | None = None,
        capacity_timeout_s: float = 30.0,
    ) -> None:
        if slots < 1 or spares < 0:
            raise AssertionError(f"{slots} slots and {spares} spares")
        self._spark = spark
        self._slots = slots
        self._spares = spares
        self._bootstrap = bootstrap
        self._entry = entry
        self._on_loss = on_loss
        self._on_failure = on_failure
        self._unreported: SlotError | None = None
        self._reporting = threading.Lock()
        self._capacity_timeout_s = capacity_timeout_s
        self._released = threading.Event()
        self._threads: list[threading.Thread] = []
        self._group = f"weir {bootstrap.job} {id(self):x}"

    def start(self) -> int:
        """Submit the slots and return how many spares there is room for (at most those asked for).

        Returns before the slots are up: they report to the coordinator themselves. Raises SlotError when there is
        no room for all slots within ``capacity_timeout_s``.
        """
        if self._threads:
            raise AssertionError("started already")
        found = await_capacity(self._spark, slots=self._slots, spares=self._spares, timeout_s=self._capacity_timeout_s)
        if not is_local(str(self._spark.sparkContext.master)):
            self._warm_up(found)
        spares = min(self._spares, found.task_slots - self._slots)
        for index in range(self._slots + spares):
            thread = InheritableThread(target=self._keep, args=(index,), name=f"weir-slot-{index}")
            thread.daemon = True
            self._threads.append(thread)
            thread.start()
        return spares

    def report_failures(self, to: Callable[[SlotError], None]) -> None:
        """``to`` is told when a slot cannot be had any more; now, if that is so already."""
        with self._reporting:
            self._on_failure = to
            error, self._unreported = self._unreported, None
        if error is not None:
            to(error)

    def release(self) -> None:
        """From now on a slot that ends is not started again."""
        self._released.set()

    def replace(self, index: int) -> None:
        """Slot ``index`` is hung or does not obey: have Spark kill its process, and start it again. Returns at once."""

        def cancel() -> None:
            with contextlib.suppress(Py4JError):  # The application is gone, and the slot with it.
                self._spark.sparkContext.cancelJobGroup(self._job_group(index))

        if not self._released.is_set():
            InheritableThread(target=cancel, name=f"weir-replace-{index}", daemon=True).start()

    def close(self, *, grace_s: float = 5.0) -> None:
        """Wait ``grace_s`` for the slots to leave by themselves, then have Spark stop what is left. Safe to call twice."""
        self.release()
        self._join(grace_s)
        for index, thread in enumerate(self._threads):
            if thread.is_alive():
                try:
                    self._spark.sparkContext.cancelJobGroup(self._job_group(index))
                except Py4JError:
                    break  # The application is gone, and the slots with it.
        self._join(_CANCEL_S)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close(grace_s=5.0 if error is None else 0.0)

    def _join(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _job_group(self, index: int) -> str:
        return f"{self._group} slot {index}"

    def _keep(self, index: int) -> None:
        """The life of one slot, on a thread of its own, which must not end without a word: the job would wait for the slot."""
        try:
            self._keep_running(index)
        except Exception as error:  # Whatever it is, there will be no such slot.
            log.debug("slot given up", slot=index, exc_info=True)
            self._give_up(SlotError(f"slot {index} cannot be started ({type(error).__name__}: {error})"))

    def _give_up(self, error: SlotError) -> None:
        with self._reporting:
            report = self._on_failure
            if report is None:
                self._unreported = error
        if report is not None:
            report(error)

    def _keep_running(self, index: int) -> None:
        restarts = Restarts()
        delay_s = 0.0
        while not self._released.wait(delay_s):
            began = time.monotonic()
            ending, reason = self._run(index)
            if self._released.is_set():
                return
            lived_s = time.monotonic() - began
            decision = restarts.decide(ending, lived_s=lived_s)
            if isinstance(decision, GiveUp):
                self._give_up(SlotError(f"slot {index} cannot be started ({ending}): {reason}"))
                return
            delay_s = decision.delay_s
            self._on_loss(SlotLoss(index=index, ending=ending, reason=reason, lived_s=lived_s))

    def _run(self, index: int) -> tuple[Ending, str]:
        """Submit the Spark job of a slot and wait until it has ended."""
        context = self._spark.sparkContext
        try:
            context.setJobGroup(self._job_group(index), f"Weir slot {index} of {self._bootstrap.job}", interruptOnCancel=True)
            context.addJobTag(f"weir-slot-{index}")
            task = functools.partial(run_slot_task, self._entry, self._bootstrap, index)
            ends: list[SlotEnd] = context.parallelize([index], 1).mapPartitions(task).collect()
        except Py4JJavaError as error:
            try:
                message = str(error.java_exception.getMessage())
            except (Py4JError, OSError, AttributeError):
                return Ending.SPARK_GONE, "the driver's JVM is gone, and with it what it had to say"
            return _classify(message)
        except (Py4JNetworkError, Py4JError, OSError, AttributeError) as error:
            # AttributeError: pyspark drops its gateway when the session is stopped.
            return Ending.SPARK_GONE, f"the driver's JVM is gone ({type(error).__name__})"
        end = ends[0]
        if end.error is None:
            return Ending.RETURNED, "left by itself"
        log.debug("slot raised", slot=index, trace=end.trace)
        return Ending.RAISED, end.error

    def _warm_up(self, found: Capacity) -> None:
        """Have every executor start its Python daemon now: a replacement there is then a matter of milliseconds."""
        context = self._spark.sparkContext
        context.parallelize(range(found.task_slots), found.task_slots).mapPartitions(touch).count()


def _classify(message: str) -> tuple[Ending, str]:
    reason = message.partition("\nDriver stacktrace:")[0][-_REASON_CHARS_MAX:]
    if "SparkContext was shut down" in message or "stopped SparkContext" in message:
        return Ending.SPARK_GONE, reason.splitlines()[0]
    if "Traceback (most recent call last)" in message and "exited unexpectedly" not in message:
        return Ending.RAISED, reason
    return Ending.LOST, reason.partition("\n")[0]
