from __future__ import annotations

import os
import re
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator

import psutil
import pytest
from pyspark.sql import SparkSession
from tests.integration.spark.fake_coordinator import SECRET, WAIT_S, FakeCoordinator, connected_slot
from tests.integration.spark.process_tree import argument_lists, listening, process_tree, refusing_server, send_unauthenticated
from tests.standalone_cluster import StandaloneCluster

from weir.spark.session import close_session, open_session
from weir.spark.settings import AUTH_SECRET
from weir.spark.slot_pool import SlotPool, await_capacity

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def cluster() -> Iterator[StandaloneCluster]:
    """Two workers with two cores each."""
    with StandaloneCluster(workers=2, cores=2, memory_mb=512) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def spark(cluster: StandaloneCluster) -> Iterator[SparkSession]:
    spark = open_session(cluster.master_url, 4, app_name="weir-tests", extra_conf=cluster.session_settings())
    yield spark
    close_session(spark)


def test_slots_of_a_killed_executor_are_restarted_and_the_other_slots_continue(
    spark: SparkSession, coordinator: FakeCoordinator
) -> None:
    with SlotPool(spark, 4, coordinator.bootstrap(), entry=connected_slot) as pool:
        connections = [coordinator.accept() for _ in range(4)]
        executors = {connection.executor for connection in connections}
        assert len(executors) == 2
        killed = connections[0].executor
        pid = int(killed.rpartition("/")[2])
        assert "CoarseGrainedExecutorBackend" in " ".join(psutil.Process(pid).cmdline())
        lost = [connection for connection in connections if connection.executor == killed]
        kept = [connection for connection in connections if connection.executor != killed]
        os.kill(pid, signal.SIGKILL)
        replacements = [coordinator.accept() for _ in lost]
        assert sorted(connection.index for connection in replacements) == sorted(connection.index for connection in lost)
        assert killed not in {connection.executor for connection in replacements}
        assert all(connection.is_closed() for connection in lost)
        assert all(psutil.pid_exists(connection.pid) for connection in kept)
        pool.release()
        coordinator.close_connections()


def test_a_slot_without_a_core_waits_for_the_cluster_and_starts_when_a_core_is_free(
    spark: SparkSession, coordinator: FakeCoordinator, capfd: pytest.CaptureFixture[str]
) -> None:
    assert await_capacity(spark, slots=4, spares=0, timeout_s=WAIT_S).task_slots == 4
    with SlotPool(spark, 5, coordinator.bootstrap(), entry=connected_slot, capacity_timeout_s=0.2) as pool:
        running = {connection.index: connection for connection in (coordinator.accept() for _ in range(4))}
        output = "".join(capfd.readouterr())
        assert "needs 5, but spark:" in output and "has 4 free (executors: 2)" in output
        pool.release()
        next(iter(running.values())).socket.close()
        assert coordinator.accept().index not in running
        coordinator.close_connections()


def test_no_secret_is_in_an_argument_list_of_the_cluster(
    spark: SparkSession, cluster: StandaloneCluster, coordinator: FakeCoordinator
) -> None:
    with SlotPool(spark, 4, coordinator.bootstrap(), entry=connected_slot) as pool:
        for _ in range(4):
            coordinator.accept()
        shown = argument_lists(process_tree(os.getpid()))
        pool.release()
        coordinator.close_connections()
    assert "CoarseGrainedExecutorBackend" in shown
    assert "deploy.worker.Worker" in shown
    assert cluster.session_settings()[AUTH_SECRET] not in shown
    assert SECRET.decode() not in shown


def test_unauthenticated_messages_to_every_port_of_the_cluster_have_no_effect(
    spark: SparkSession, cluster: StandaloneCluster, coordinator: FakeCoordinator
) -> None:
    with SlotPool(spark, 4, coordinator.bootstrap(), entry=connected_slot) as pool:
        pids = {coordinator.accept().pid for _ in range(4)}
        ports = [(address, port) for address, port in listening(process_tree(os.getpid())) if port != coordinator.port]
        for address, port in ports:
            assert address.endswith("127.0.0.1")
            response = send_unauthenticated(port, os.urandom(4096))
            assert response == b"" or response.startswith((b"!", b"HTTP/1.1 4")), (port, response)
        # The master and both workers have a control port and a web UI each. The driver has a port for its gateway, for control
        # messages and for block transfer. Both executors have a port for block transfer.
        kinds = [refusing_server(port) for _, port in ports]
        assert {kind: kinds.count(kind) for kind in kinds} == {"spark": 7, "page": 3, "gateway": 1}
        assert all(psutil.pid_exists(pid) for pid in pids)
        assert psutil.pid_exists(cluster.pids[0])
        pool.release()
        coordinator.close_connections()
    assert spark.range(10).count() == 10


@pytest.mark.parametrize("path", ["/", "/json/", "/app/kill/", "/metrics/json"])
def test_the_web_uis_of_master_and_workers_refuse_all_requests(cluster: StandaloneCluster, path: str) -> None:
    logs = [(cluster.directory / f"{name}.log").read_text() for name in ("master", "worker-0", "worker-1")]
    for log in logs:
        found = re.search(r"service '(?:Master|Worker)UI' on port (\d+)", log)
        assert found is not None
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"http://127.0.0.1:{found.group(1)}{path}", timeout=WAIT_S)


def test_only_the_owner_can_read_the_files_with_the_secret_of_the_cluster(cluster: StandaloneCluster) -> None:
    assert (cluster.directory.stat().st_mode & 0o777) == 0o700
    assert ((cluster.directory / "cluster.properties").stat().st_mode & 0o777) == 0o600
