from __future__ import annotations

import os
import queue
import signal

import psutil
import pytest
from pyspark.sql import SparkSession
from tests.integration.spark.process_tree import argument_lists, family, intrude, listening, refusal
from tests.integration.spark.switchboard import (
    SECRET,
    SPARK_SECRET,
    WAIT_S,
    Switchboard,
    deaf_slot,
    leaving_slot,
    line_slot,
    raising_slot,
)

from weir.errors import SlotError
from weir.spark.restarts import Ending
from weir.spark.settings import AUTH_SECRET, TASK_FAILURES_MAX
from weir.spark.slots import SlotLoss, SlotPool

pytestmark = pytest.mark.spark


def test_slots_and_a_spare_come_up_and_leave_when_the_line_is_closed(local_spark: SparkSession, board: Switchboard) -> None:
    pool = SlotPool(local_spark, 2, board.bootstrap(), spares=1, entry=line_slot)
    assert pool.start() == 1
    lines = [board.answer() for _ in range(3)]
    assert sorted(line.index for line in lines) == [0, 1, 2]
    assert len({line.pid for line in lines}) == 3
    assert len({line.executor for line in lines}) == 1
    pool.release()
    board.hang_up()
    pool.close()
    assert not [thread for thread in pool._threads if thread.is_alive()]


def test_a_killed_slot_comes_back_again_and_again_and_disturbs_no_other(local_spark: SparkSession, board: Switchboard) -> None:
    losses: queue.Queue[SlotLoss] = queue.Queue()
    with SlotPool(local_spark, 2, board.bootstrap(), entry=line_slot, on_loss=losses.put) as pool:
        lines = {line.index: line for line in (board.answer(), board.answer())}
        for _ in range(TASK_FAILURES_MAX + 1):
            os.kill(lines[1].pid, signal.SIGKILL)
            assert lines[1].is_cut()
            replacement = board.answer()
            assert replacement.index == 1
            assert replacement.pid != lines[1].pid
            lines[1] = replacement
        assert psutil.pid_exists(lines[0].pid)
        # Spark replaces the first ones by itself; for the next its job is lost and submitted anew.
        loss = losses.get(timeout=WAIT_S)
        assert (loss.index, loss.ending) == (1, Ending.LOST)
        assert losses.empty()
        pool.release()
        board.hang_up()


def test_a_slot_that_leaves_is_started_again_until_the_pool_is_released(local_spark: SparkSession, board: Switchboard) -> None:
    losses: queue.Queue[SlotLoss] = queue.Queue()
    pool = SlotPool(local_spark, 1, board.bootstrap(), entry=leaving_slot, on_loss=losses.put)
    pool.start()
    board.answer()
    assert losses.get(timeout=WAIT_S).ending is Ending.RETURNED
    board.answer()
    pool.close()
    assert not [thread for thread in pool._threads if thread.is_alive()]


def test_a_slot_that_keeps_raising_is_given_up_and_its_error_told(local_spark: SparkSession, board: Switchboard) -> None:
    failures: queue.Queue[SlotError] = queue.Queue()
    with SlotPool(local_spark, 1, board.bootstrap(), entry=raising_slot, on_failure=failures.put):
        error = failures.get(timeout=WAIT_S)
    assert "ValueError: no such kernel" in str(error)
    assert SECRET.decode() not in str(error)


def test_an_entry_that_the_workers_do_not_have_is_told_by_name(local_spark: SparkSession, board: Switchboard) -> None:
    failures: queue.Queue[SlotError] = queue.Queue()
    with SlotPool(local_spark, 1, board.bootstrap(), entry="weir.no_such_module:run", on_failure=failures.put):
        assert "No module named 'weir.no_such_module'" in str(failures.get(timeout=WAIT_S))


def test_a_deaf_slot_is_stopped_by_spark_when_the_pool_closes(local_spark: SparkSession, board: Switchboard) -> None:
    pool = SlotPool(local_spark, 1, board.bootstrap(), entry=deaf_slot)
    pool.start()
    process = psutil.Process(board.answer().pid)
    pool.close(grace_s=0.0)
    assert not [thread for thread in pool._threads if thread.is_alive()]
    _, alive = psutil.wait_procs([process], timeout=WAIT_S)
    assert alive == []


def test_more_slots_than_cores_are_refused_with_both_numbers(local_spark: SparkSession, board: Switchboard) -> None:
    pool = SlotPool(local_spark, 4, board.bootstrap(), spares=1, entry=line_slot)
    with pytest.raises(SlotError, match=r"needs 4 slots and 1 spare, .* local\[3,4\] offers 3 on 1 executors"):
        pool.start()


def test_spares_without_room_are_left_out(local_spark: SparkSession, board: Switchboard) -> None:
    pool = SlotPool(local_spark, 2, board.bootstrap(), spares=5, entry=line_slot)
    assert pool.start() == 1
    for _ in range(3):
        board.answer()
    pool.release()
    board.hang_up()
    pool.close()


def test_slots_are_forked_with_one_thread_of_work_each(local_spark: SparkSession) -> None:
    def threads_of_pools(rows: object) -> list[tuple[str | None, ...]]:
        return [tuple(os.environ.get(name) for name in ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS"))]

    assert local_spark.sparkContext.parallelize([0], 1).mapPartitions(threads_of_pools).collect() == [("1", "1", "1")]


def test_polars_arrow_and_numba_work_in_a_forked_worker(local_spark: SparkSession) -> None:
    def work(rows: object) -> list[int]:
        import numba
        import polars
        import pyarrow
        import pyarrow.compute

        doubled = numba.njit(lambda value: value * 2)
        summed = polars.DataFrame({"key": ["a", "b", "a"], "value": [1, 2, 3]}).lazy().group_by("key").sum().collect()
        return [doubled(21), summed["value"].sum(), pyarrow.compute.sum(pyarrow.array([1, 2])).as_py()]

    assert local_spark.sparkContext.parallelize([0], 1).mapPartitions(work).collect() == [42, 6, 3]


def test_no_secret_is_in_an_argument_list(local_spark: SparkSession, board: Switchboard) -> None:
    with SlotPool(local_spark, 1, board.bootstrap(), entry=line_slot) as pool:
        board.answer()
        shown = argument_lists(family(os.getpid()))
        pool.release()
        board.hang_up()
    assert "weir.spark.daemon" in shown
    assert local_spark.sparkContext.getConf().get(AUTH_SECRET) == SPARK_SECRET
    assert SPARK_SECRET not in shown
    assert SECRET.decode() not in shown


def test_strangers_at_every_port_get_nothing_and_change_nothing(local_spark: SparkSession, board: Switchboard) -> None:
    with SlotPool(local_spark, 2, board.bootstrap(), entry=line_slot) as pool:
        pids = {board.answer().pid, board.answer().pid}
        ours = {board.port}
        ports = [(address, port) for address, port in listening(family(os.getpid())) if port not in ours]
        before = {process.pid for process in family(os.getpid())}
        for address, port in ports:
            assert address.endswith("127.0.0.1")
            for message in (b"\x00" * 64, os.urandom(4096), b"GET / HTTP/1.0\r\n\r\n", b"c\no0\nshutdown\ne\n"):
                answer = intrude(port, message)
                # The gateway answers with an error ("!"), the others not at all.
                assert answer[:1] in (b"", b"!"), (port, message[:10], answer)
        # The gateway of pyspark, Spark's control messages, Spark's blocks.
        assert sorted(refusal(port) for _, port in ports) == ["gateway", "spark", "spark"]
        assert {process.pid for process in family(os.getpid())} == before
        assert all(psutil.pid_exists(pid) for pid in pids)
        assert local_spark.range(10).count() == 10
        pool.release()
        board.hang_up()
