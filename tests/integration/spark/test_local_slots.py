from __future__ import annotations

import os
import queue
import signal

import psutil
import pytest
from pyspark.sql import SparkSession
from tests.integration.spark.fake_coordinator import (
    SECRET,
    SPARK_SECRET,
    WAIT_S,
    FakeCoordinator,
    connected_slot,
    ending_slot,
    raising_slot,
    unresponsive_slot,
)
from tests.integration.spark.process_tree import argument_lists, listening, process_tree, refusing_server, send_unauthenticated

from weir.errors import SlotError
from weir.spark.settings import AUTH_SECRET, TASK_FAILURES_MAX
from weir.spark.slot_pool import SlotEnding, SlotLoss, SlotPool

pytestmark = pytest.mark.spark


def test_slots_and_spares_start_with_the_pool_and_end_when_their_connection_is_closed(
    local_spark: SparkSession, coordinator: FakeCoordinator
) -> None:
    pool = SlotPool(local_spark, 2, coordinator.bootstrap(), spares=1, entry=connected_slot)
    assert pool.start() == 1
    connections = [coordinator.accept() for _ in range(3)]
    assert sorted(connection.index for connection in connections) == [0, 1, 2]
    assert len({connection.pid for connection in connections}) == 3
    assert len({connection.executor for connection in connections}) == 1
    pool.release()
    coordinator.close_connections()
    pool.close()
    assert not [thread for thread in pool._threads if thread.is_alive()]


def test_a_slot_is_restarted_after_each_kill_and_other_slots_continue(
    local_spark: SparkSession, coordinator: FakeCoordinator
) -> None:
    losses: queue.Queue[SlotLoss] = queue.Queue()
    with SlotPool(local_spark, 2, coordinator.bootstrap(), entry=connected_slot, on_loss=losses.put) as pool:
        connections = {connection.index: connection for connection in (coordinator.accept(), coordinator.accept())}
        for _ in range(TASK_FAILURES_MAX + 1):
            os.kill(connections[1].pid, signal.SIGKILL)
            assert connections[1].is_closed()
            replacement = coordinator.accept()
            assert replacement.index == 1
            assert replacement.pid != connections[1].pid
            connections[1] = replacement
        assert psutil.pid_exists(connections[0].pid)
        # Spark restarts a failed Spark task several times. After the last attempt, the Spark job fails. The pool then reports the
        # loss and submits the Spark job again.
        loss = losses.get(timeout=WAIT_S)
        assert (loss.index, loss.ending) == (1, SlotEnding.LOST)
        assert losses.empty()
        pool.release()
        coordinator.close_connections()


def test_a_slot_that_does_not_react_is_replaced_but_the_successor_of_a_slot_that_has_ended_is_not(
    local_spark: SparkSession, coordinator: FakeCoordinator
) -> None:
    with SlotPool(local_spark, 2, coordinator.bootstrap(), entry=unresponsive_slot) as pool:
        connections = {connection.index: connection for connection in (coordinator.accept(), coordinator.accept())}
        os.kill(connections[0].pid, signal.SIGKILL)
        successor = coordinator.accept()
        pool.replace(0, connections[0].spark_task)
        pool.replace(1, connections[1].spark_task)
        replacement = coordinator.accept()
        assert (successor.index, replacement.index) == (0, 1)
        assert replacement.pid != connections[1].pid and connections[1].is_closed()
        assert psutil.pid_exists(successor.pid)
        pool.close(grace_s=0.0)


def test_a_slot_that_ends_is_restarted_until_the_pool_is_released(
    local_spark: SparkSession, coordinator: FakeCoordinator
) -> None:
    losses: queue.Queue[SlotLoss] = queue.Queue()
    pool = SlotPool(local_spark, 1, coordinator.bootstrap(), entry=ending_slot, on_loss=losses.put)
    pool.start()
    coordinator.accept()
    assert losses.get(timeout=WAIT_S).ending is SlotEnding.RETURNED
    coordinator.accept()
    pool.close()
    assert not [thread for thread in pool._threads if thread.is_alive()]


def test_a_slot_that_always_raises_reports_its_exception(local_spark: SparkSession, coordinator: FakeCoordinator) -> None:
    failures: queue.Queue[SlotError] = queue.Queue()
    with SlotPool(local_spark, 1, coordinator.bootstrap(), entry=raising_slot, on_failure=failures.put):
        error = failures.get(timeout=WAIT_S)
    assert "ValueError: raised by the slot" in str(error)
    assert SECRET.decode() not in str(error)


def test_a_missing_entry_module_is_reported_by_name(local_spark: SparkSession, coordinator: FakeCoordinator) -> None:
    failures: queue.Queue[SlotError] = queue.Queue()
    with SlotPool(local_spark, 1, coordinator.bootstrap(), entry="weir.no_such_module:run", on_failure=failures.put):
        assert "No module named 'weir.no_such_module'" in str(failures.get(timeout=WAIT_S))


def test_spark_stops_an_unresponsive_slot_when_the_pool_closes(local_spark: SparkSession, coordinator: FakeCoordinator) -> None:
    pool = SlotPool(local_spark, 1, coordinator.bootstrap(), entry=unresponsive_slot)
    pool.start()
    process = psutil.Process(coordinator.accept().pid)
    pool.close(grace_s=0.0)
    assert not [thread for thread in pool._threads if thread.is_alive()]
    _, alive = psutil.wait_procs([process], timeout=WAIT_S)
    assert alive == []


def test_the_error_for_too_few_cores_contains_the_numbers_of_required_and_offered_slots(
    local_spark: SparkSession, coordinator: FakeCoordinator
) -> None:
    pool = SlotPool(local_spark, 4, coordinator.bootstrap(), spares=1, entry=connected_slot)
    with pytest.raises(SlotError, match=r"needs 4 and 1 spare, but local\[3,4\] has 3 free \(executors: 1\)"):
        pool.start()


def test_spares_without_a_free_core_are_not_started(local_spark: SparkSession, coordinator: FakeCoordinator) -> None:
    pool = SlotPool(local_spark, 2, coordinator.bootstrap(), spares=5, entry=connected_slot)
    assert pool.start() == 1
    for _ in range(3):
        coordinator.accept()
    pool.release()
    coordinator.close_connections()
    pool.close()


def test_libraries_use_one_thread_in_each_slot(local_spark: SparkSession) -> None:
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


def test_no_secret_is_in_an_argument_list(local_spark: SparkSession, coordinator: FakeCoordinator) -> None:
    with SlotPool(local_spark, 1, coordinator.bootstrap(), entry=connected_slot) as pool:
        coordinator.accept()
        shown = argument_lists(process_tree(os.getpid()))
        pool.release()
        coordinator.close_connections()
    assert "weir.spark.daemon" in shown
    assert local_spark.sparkContext.getConf().get(AUTH_SECRET) == SPARK_SECRET
    assert SPARK_SECRET not in shown
    assert SECRET.decode() not in shown


def test_unauthenticated_messages_to_every_port_have_no_effect(local_spark: SparkSession, coordinator: FakeCoordinator) -> None:
    with SlotPool(local_spark, 2, coordinator.bootstrap(), entry=connected_slot) as pool:
        pids = {coordinator.accept().pid, coordinator.accept().pid}
        own_ports = {coordinator.port}
        ports = [(address, port) for address, port in listening(process_tree(os.getpid())) if port not in own_ports]
        before = {process.pid for process in process_tree(os.getpid())}
        for address, port in ports:
            assert address.endswith("127.0.0.1")
            for message in (b"\x00" * 64, os.urandom(4096), b"GET / HTTP/1.0\r\n\r\n", b"c\no0\nshutdown\ne\n"):
                response = send_unauthenticated(port, message)
                # The gateway responds with an error ("!"). Spark's servers do not respond.
                assert response[:1] in (b"", b"!"), (port, message[:10], response)
        # The open ports are those of PySpark's gateway, of Spark's control messages, and of Spark's block transfer.
        assert sorted(refusing_server(port) for _, port in ports) == ["gateway", "spark", "spark"]
        assert {process.pid for process in process_tree(os.getpid())} == before
        assert all(psutil.pid_exists(pid) for pid in pids)
        assert local_spark.range(10).count() == 10
        pool.release()
        coordinator.close_connections()
