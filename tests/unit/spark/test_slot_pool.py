"""The threads that keep slots running, with a fake Spark."""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.sql import SparkSession

from weir.errors import SlotError
from weir.protocol.bootstrap import SlotBootstrap
from weir.spark.slot_pool import SlotEnding, SlotLoss, SlotPool
from weir.spark.spark_task import SlotEnd

WAIT_S = 20.0
BOOTSTRAP = SlotBootstrap(job="job", host="host", port=1, secret=b"")


class Spark:
    """A fake Spark session with one executor and two cores. Each Spark job returns the result of
    ``collect``, or raises the error that ``collect`` raises."""

    def __init__(self, collect: Callable[[], list[SlotEnd]]) -> None:
        executors = SimpleNamespace(size=lambda: 1, apply=lambda index: SimpleNamespace(maxTasks=lambda: 2))
        store = SimpleNamespace(executorList=lambda active: executors)
        rows = SimpleNamespace(mapPartitions=lambda task: SimpleNamespace(collect=collect))
        self.running: list[int] = []
        """The task attempts that Spark cannot kill."""
        self.cancelled: queue.Queue[str] = queue.Queue()
        jvm = SimpleNamespace(statusStore=lambda: store, killTaskAttempt=lambda attempt, *_: attempt in self.running)
        self.sparkContext = SimpleNamespace(
            master="local[2]",
            _jsc=SimpleNamespace(sc=lambda: jvm),
            setJobGroup=lambda *names, interruptOnCancel: None,
            addJobTag=lambda tag: None,
            cancelJobGroup=self.cancelled.put,
            parallelize=lambda items, partitions: rows,
        )


def pool(collect: Callable[[], list[SlotEnd]], **options: Any) -> SlotPool:
    return SlotPool(cast(SparkSession, Spark(collect)), 1, BOOTSTRAP, **options)


def java_error(get_message: Callable[[], str]) -> Py4JJavaError:
    return Py4JJavaError("An error occurred", SimpleNamespace(_target_id="o1", getMessage=get_message))


def jvm_ended() -> str:
    raise Py4JNetworkError("Answer from Java side is empty")


def raising(error: Exception) -> Callable[[], list[SlotEnd]]:
    def collect() -> list[SlotEnd]:
        raise error

    return collect


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            java_error(jvm_ended),
            (
                r"Spark has ended, so the job cannot continue: the driver's JVM has ended\. Run the command again with --resume: "
                r"the job continues from its newest completed checkpoint\.$"
            ),
        ),
        (java_error(lambda: "Job 0 cancelled because SparkContext was shut down"), r"Spark has ended.* with --resume: "),
        (TypeError("cannot pickle 'lock' object"), r"Cannot start slot 0 \(TypeError: cannot pickle 'lock' object\)"),
    ],
)
def test_an_error_in_the_thread_of_a_slot_is_reported(error: Exception, message: str) -> None:
    failures: queue.Queue[SlotError] = queue.Queue()
    with pool(raising(error), on_failure=failures.put):
        assert re.match(message, str(failures.get(timeout=WAIT_S)))


def test_a_failure_before_the_callback_is_set_is_reported_when_the_callback_is_set() -> None:
    slots = pool(raising(java_error(jvm_ended)))
    slots.start()
    for thread in slots._threads:
        thread.join(WAIT_S)
        assert not thread.is_alive(), "a running thread would delay closing the pool"
    failures: list[SlotError] = []
    slots.report_failures(failures.append)
    slots.report_failures(failures.append)
    assert [str(error).partition(",")[0] for error in failures] == ["Spark has ended"]
    slots.close(grace_s=0.0)


def test_the_report_of_a_lost_slot_contains_the_reason_from_spark() -> None:
    killed = "Job aborted: Container killed by YARN for exceeding memory limits\nDriver stacktrace:\nat scala"
    ends = iter([java_error(lambda: killed)] * 2)
    over = threading.Event()

    def collect() -> list[SlotEnd]:
        error = next(ends, None)
        if error is not None:
            raise error
        over.wait(WAIT_S)
        return [SlotEnd(error=None)]

    losses: queue.Queue[SlotLoss] = queue.Queue()
    with pool(collect, on_loss=losses.put) as slots:
        for _ in range(2):
            loss = losses.get(timeout=WAIT_S)
            assert (loss.index, loss.ending) == (0, SlotEnding.LOST)
            assert loss.reason == "Job aborted: Container killed by YARN for exceeding memory limits"
        slots.release()
        over.set()


def test_the_report_of_a_slot_that_fails_at_each_start_contains_its_error() -> None:
    failures: queue.Queue[SlotError] = queue.Queue()
    end = SlotEnd(error="no free port in 7000-7001; widen --data-ports", trace="Traceback ...")
    with pool(lambda: [end], on_failure=failures.put):
        error = failures.get(timeout=WAIT_S)
    assert str(error) == "Cannot start slot 0 (raised): no free port in 7000-7001; widen --data-ports"


def test_a_slot_whose_task_attempt_spark_cannot_kill_is_restarted_as_a_new_spark_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weir.spark.slot_pool._KILL_S", 0.0)
    spark = Spark(list)
    spark.running = [31]
    slots = SlotPool(cast(SparkSession, spark), 1, BOOTSTRAP)
    slots.replace(0, 30)
    slots.replace(2, 31)
    assert spark.cancelled.get(timeout=WAIT_S).endswith(" slot 2"), "attempt 30 has ended"
    assert spark.cancelled.empty()
