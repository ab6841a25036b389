"""The slot pool. The pool runs long-lived Spark tasks, each in a separate Spark job, and restarts them while the pool is open.

Each slot has its own Spark job, because Spark can cancel and restart one job without the others. If all slots shared one Spark
job, too many losses of one slot would end all slots. In a barrier stage, the loss of one slot would end all slots.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self, TypeAlias

import structlog
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import InheritableThread, SparkContext
from pyspark.sql import SparkSession

from weir.errors import SlotError
from weir.protocol.bootstrap import SlotBootstrap
from weir.spark.settings import is_local
from weir.spark.spark_task import SlotEnd, SlotEntryPoint, run_slot_task, touch_rows

_POLL_S = 0.05

CAPACITY_S = 30.0
"""Default maximum time to wait for free task slots of a cluster."""
STABLE_S = 10.0
"""A slot that ran at least this long had started successfully, so its earlier failures no longer count."""
RAISES_MAX = 3
_DELAY_MIN_S, _DELAY_MAX_S = 0.1, 5.0
ENTRY = "weir.subtask.process:run_slot"
log = structlog.get_logger(__name__)
_REASON_CHARS_MAX = 4_000
_KILLED = "Weir replaces this slot"
_KILL_S = 5.0
"""Internal: maximum time in which ``replace`` waits until Spark has killed a task attempt. Spark needs up to about 2 s."""
_CANCEL_S = 10.0
"""Internal: maximum time in which ``close`` waits until Spark has ended the cancelled slots."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """Capacity of the cluster. ``task_slots`` is the number of Spark tasks that can run at once on all live executors."""

    executors: int
    task_slots: int


def capacity(spark: SparkSession) -> Capacity:
    listed = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    task_slots = [int(listed.apply(index).maxTasks()) for index in range(listed.size())]
    # On a cluster, the list includes the driver, which has no task slots.
    executors = [count for count in task_slots if count > 0]
    return Capacity(executors=len(executors), task_slots=sum(executors))


def await_capacity(spark: SparkSession, *, slots: int, spares: int, timeout_s: float, occupied: int = 0) -> Capacity:
    """Wait at most ``timeout_s`` seconds until a cluster has ``slots + spares`` task slots. Return the capacity of the cluster, without the
    ``occupied`` task slots of other jobs in the session.

    The wait is needed because the executors of a cluster start one by one. Spark starts the remaining slots as soon as the
    cluster has room for them. A local master has a fixed number of task slots, so raise
    SlotError if it has fewer than ``slots``.
    """
    deadline = time.monotonic() + timeout_s
    waits = not is_local(str(spark.sparkContext.master))
    while (available := _unoccupied(spark, occupied)).task_slots < slots + spares and waits and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    if available.task_slots < slots:
        shortage = _shortage(spark, available, slots=slots, spares=spares, occupied=occupied)
        if not waits:
            raise SlotError(shortage)
        log.warning("waiting for executors", waited_s=timeout_s, reason=shortage)
    return available


def _unoccupied(spark: SparkSession, occupied: int) -> Capacity:
    total = capacity(spark)
    return Capacity(executors=total.executors, task_slots=max(0, total.task_slots - occupied))


def _shortage(spark: SparkSession, available: Capacity, *, slots: int, spares: int, occupied: int) -> str:
    spare = f" and {spares} spare" if spares else ""
    others = f"; task slots of other Weir jobs in this session: {occupied}" if occupied else ""
    return (
        f"Too few task slots: the job needs {slots}{spare}, but {spark.sparkContext.master} has {available.task_slots} free "
        f"(executors: {available.executors}{others}). Lower the parallelism, or give the application more cores "
        "(local[N]; spark.cores.max and spark.executor.cores; spark.executor.instances)."
    )


class SlotEnding(StrEnum):
    RETURNED = "returned"
    """The slot ended itself, on request or because its lease expired."""
    RAISED = "raised"
    """The slot's code raised an error, and would probably raise it again."""
    LOST = "lost"
    """The slot's process or executor died."""
    SPARK_ENDED = "spark_ended"
    """The Spark application has ended, so no slot can start any more."""


@dataclass(frozen=True, slots=True)
class Restart:
    delay_s: float


@dataclass(frozen=True, slots=True)
class NoRestart:
    pass


RestartDecision: TypeAlias = Restart | NoRestart


class SlotRestarts:
    """The restart history of one slot.

    A lost slot restarts immediately. A slot that fails repeatedly restarts with growing delays of at most 5 s. A slot
    that raises an error right after its start, RAISES_MAX times in a row, is not restarted.
    """

    def __init__(self) -> None:
        self._short_runs = 0
        self._raises = 0

    def decide(self, ending: SlotEnding, *, uptime_s: float) -> RestartDecision:
        if ending is SlotEnding.SPARK_ENDED:
            return NoRestart()
        if uptime_s >= STABLE_S:
            self._short_runs = self._raises = 0
        self._raises = self._raises + 1 if ending is SlotEnding.RAISED else 0
        if self._raises >= RAISES_MAX:
            return NoRestart()
        delay_s = 0.0 if self._short_runs == 0 else min(_DELAY_MAX_S, _DELAY_MIN_S * 2 ** (self._short_runs - 1))
        self._short_runs = min(self._short_runs + 1, 10)
        return Restart(delay_s)


@dataclass(frozen=True, slots=True)
class SlotLoss:
    """The Spark job of slot ``index`` ended while the pool was open. Restarts by Spark itself are not reported as losses."""

    index: int
    ending: SlotEnding
    reason: str
    uptime_s: float


class SlotPool:
    """The pool of slots. Call order: start -> report_failures -> release (when the job has ended, before the slots stop) ->
    close. Only one thread may call these methods.

    ``capacity_timeout_s`` is internal, and limits the wait for free task slots. When the wait ends, the pool submits the slots
    even if the cluster has too few task slots. If the job has a ``slots_timeout_ms``, this timeout limits how long the
    coordinator then waits for enough slots.

    ``on_loss(loss)`` is called for every Spark job that ended early and will be submitted again. ``report_failures`` sets the
    callback for failures. The pool's threads call ``on_loss`` and the callback for failures, which must not block.
    """

    def __init__(
        self,
        spark: SparkSession,
        slots: int,
        bootstrap: SlotBootstrap,
        *,
        spares: int = 0,
        entry: SlotEntryPoint = ENTRY,
        on_loss: Callable[[SlotLoss], None] = lambda loss: None,
        on_failure: Callable[[SlotError], None] | None = None,
        capacity_timeout_s: float = CAPACITY_S,
        context: SparkContext | None = None,
        occupied: int = 0,
    ) -> None:
        """``context``: the context that submits the slots (default: the context of ``spark``). ``occupied``: the number of task
        slots that other jobs in the session use."""
        if slots < 1 or spares < 0:
            raise AssertionError(f"{slots} slots and {spares} spares")
        self._spark = spark
        self._context = context or spark.sparkContext
        self._occupied = occupied
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
        """Submit the slots and spares, and return the number of spares. On a local master, spares without a task slot are not
        submitted.

        ``start`` returns before the slots run. The slots register with the coordinator when they start. If a cluster has too few
        task slots, the missing slots start when their executors do, and the coordinator waits for them. Raise SlotError if a
        local master has too few task slots.
        """
        if self._threads:
            raise AssertionError("started already")
        available = await_capacity(
            self._spark,
            slots=self._slots,
            spares=self._spares,
            timeout_s=self._capacity_timeout_s,
            occupied=self._occupied,
        )
        spares = self._spares
        if is_local(str(self._spark.sparkContext.master)):
            spares = min(spares, available.task_slots - self._slots)
        elif available.task_slots:
            self._warm_up(available)
        for index in range(self._slots + spares):
            thread = InheritableThread(target=self._run_slot, args=(index,), name=f"weir-slot-{index}")
            thread.daemon = True
            self._threads.append(thread)
            thread.start()
        return spares

    def report_failures(self, to: Callable[[SlotError], None]) -> None:
        """Call ``to`` when a slot cannot be started any more. If a slot has already failed to start, call ``to``
        immediately."""
        with self._reporting:
            self._on_failure = to
            error, self._unreported = self._unreported, None
        if error is not None:
            to(error)

    def release(self) -> None:
        """From now on, do not restart slots that end."""
        self._released.set()

    def replace(self, index: int, spark_task: int) -> None:
        """Make Spark kill the process of slot ``index`` and restart the slot, because the process hangs or does not react.
        ``spark_task`` is Spark's id of the task attempt that runs the process. If this attempt has already ended, ``replace`` does
        nothing: the process often ends itself when the coordinator closes its connections, and Spark then restarts the slot.
        ``replace`` returns at once.

        ``replace`` does not cancel the Spark job of the slot at once. The cancellation would also kill a process that Spark has
        just started. If it interrupted Spark during this start, Spark would even stop the Python daemon and all slots of the
        executor.
        """

        def kill() -> None:
            context = self._spark.sparkContext
            with contextlib.suppress(Py4JError):  # The slot has ended together with the Spark application.
                jvm = context._jsc.sc()
                if not jvm.killTaskAttempt(spark_task, True, _KILLED) or self._released.wait(_KILL_S):
                    return
                if jvm.killTaskAttempt(spark_task, True, _KILLED):
                    # The executor does not react. After the cancellation, the slot can start on another executor.
                    context.cancelJobGroup(self._job_group(index))

        if not self._released.is_set():
            InheritableThread(target=kill, name=f"weir-replace-{index}", daemon=True).start()

    def close(self, *, grace_s: float = 5.0) -> None:
        """Wait ``grace_s`` until the slots end, then let Spark stop the slots that are still running. Safe to call twice."""
        self.release()
        self._join(grace_s)
        for index, thread in enumerate(self._threads):
            if thread.is_alive():
                try:
                    self._spark.sparkContext.cancelJobGroup(self._job_group(index))
                except Py4JError:
                    break  # The slots have ended together with the Spark application.
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

    def _run_slot(self, index: int) -> None:
        """Run one slot on a separate thread. The thread must report every error, because the job would otherwise wait for the
        slot forever."""
        try:
            self._restart_loop(index)
        except Exception as error:  # After any error here, this slot cannot run.
            log.debug("slot thread failed", slot=index, exc_info=True)
            self._report_failure(SlotError(f"Cannot start slot {index} ({type(error).__name__}: {error})"))

    def _report_failure(self, error: SlotError) -> None:
        with self._reporting:
            report = self._on_failure
            if report is None:
                self._unreported = error
        if report is not None:
            report(error)

    def _restart_loop(self, index: int) -> None:
        restarts = SlotRestarts()
        delay_s = 0.0
        while not self._released.wait(delay_s):
            began = time.monotonic()
            ending, reason = self._run_spark_job(index)
            if self._released.is_set():
                return
            uptime_s = time.monotonic() - began
            decision = restarts.decide(ending, uptime_s=uptime_s)
            if isinstance(decision, NoRestart):
                self._report_failure(SlotError(_why_abandoned(index, ending, reason)))
                return
            delay_s = decision.delay_s
            self._on_loss(SlotLoss(index=index, ending=ending, reason=reason, uptime_s=uptime_s))

    def _run_spark_job(self, index: int) -> tuple[SlotEnding, str]:
        """Submit the Spark job of a slot and wait until the job ends."""
        context = self._context
        try:
            context.setJobGroup(self._job_group(index), f"Weir slot {index} of {self._bootstrap.job}", interruptOnCancel=True)
            context.addJobTag(f"weir-slot-{index}")
            task = functools.partial(run_slot_task, self._entry, self._bootstrap, index)
            ends: list[SlotEnd] = context.parallelize([index], 1).mapPartitions(task).collect()
        except Py4JJavaError as error:
            try:
                message = str(error.java_exception.getMessage())
            except (Py4JError, OSError, AttributeError):
                return SlotEnding.SPARK_ENDED, "the driver's JVM has ended"
            return _classify(message)
        except (Py4JNetworkError, Py4JError, OSError, AttributeError) as error:
            # An AttributeError occurs because pyspark drops its gateway when the session is stopped.
            return SlotEnding.SPARK_ENDED, f"the driver's JVM has ended ({type(error).__name__})"
        end = ends[0]
        if end.error is None:
            return SlotEnding.RETURNED, "the slot process ended"
        log.debug("slot raised", slot=index, trace=end.trace)
        return SlotEnding.RAISED, end.error

    def _warm_up(self, available: Capacity) -> None:
        """Start the Python daemon of every executor, so that a replacement for a slot starts within milliseconds."""
        context = self._context
        context.parallelize(range(available.task_slots), available.task_slots).mapPartitions(touch_rows).count()


def _why_abandoned(index: int, ending: SlotEnding, reason: str) -> str:
    if ending is SlotEnding.SPARK_ENDED:
        return (
            f"Spark has ended, so the job cannot continue: {reason}. Run the command again with --resume: the job continues from "
            "its newest completed checkpoint."
        )
    return f"Cannot start slot {index} ({ending}): {reason}"


def _classify(message: str) -> tuple[SlotEnding, str]:
    reason = message.partition("\nDriver stacktrace:")[0][-_REASON_CHARS_MAX:]
    if "SparkContext was shut down" in message or "stopped SparkContext" in message:
        return SlotEnding.SPARK_ENDED, reason.splitlines()[0]
    if "Traceback (most recent call last)" in message and "exited unexpectedly" not in message:
        return SlotEnding.RAISED, reason
    return SlotEnding.LOST, reason.partition("\n")[0]
