"""The metrics endpoint of a driver: values, token, ports and connection limits."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import socket
import threading

import pytest

from weir.cli.metrics import CONNECTIONS_MAX, MetricsOptions, exposition, serve_metrics, take_metrics_options
from weir.coordinator.progress import JobProgress
from weir.errors import ConfigError
from weir.kernel.checkpoints import CheckpointKind, PendingCheckpoint
from weir.kernel.effects import Report
from weir.kernel.job import JobPhase
from weir.protocol.ids import CheckpointId, Generation, OperatorUid, SlotIndex, SubtaskId
from weir.protocol.manifest import CheckpointStatistics
from weir.protocol.messages import SlotMetrics, SubtaskMetrics
from weir.protocol.metrics_address import MetricsAddress
from weir.protocol.snapshots import SubtaskSnapshot, SubtaskStatistics

TOKEN = "a-token-of-our-own"
ONE = Generation(1)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def get(port: int, path: str = "/metrics", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    return response.status, response.read().decode()


def values(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in re.findall(r"^([a-z_]+(?:\{[^}]*\})?) (\S+)$", text, re.MULTILINE)}


def test_the_metrics_text_contains_all_metrics_of_a_driver() -> None:
    progress = JobProgress(frozenset({0}), ((0, OperatorUid("in")), (0, OperatorUid("a"))))
    progress.on_report(Report.starting(ONE, records=500))
    progress.on_phase(JobPhase.RUNNING, ONE)
    one = SubtaskMetrics(0, 1, 10, 9, 8, 7, 4_000_000, 3, 2, 1)
    progress.on_message(
        SlotMetrics(ONE, SlotIndex(0), 1 << 20, 5, (one,), {"in.lag_records": 40, "in.lag_seconds": 3.5, "a.x": 7})
    )
    progress.on_message(
        SlotMetrics(ONE, SlotIndex(1), 1 << 20, 5, (), {"in.lag_records": 2, "in.lag_seconds": 4.5, "a.odd": "x"})
    )
    snapshot = SubtaskSnapshot(0, 1, (), False, SubtaskStatistics(state_bytes=100))
    pending = PendingCheckpoint(CheckpointId(7), CheckpointKind.PERIODIC, 1_000, snapshots={SubtaskId(0, 1): snapshot})
    pending.statistics = CheckpointStatistics(state_bytes=100, checkpointed_bytes=60)
    for number in (7, 8, 9):
        progress.on_report(Report.triggered(CheckpointId(number), CheckpointKind.PERIODIC))
    progress.on_report(Report.completed(ONE, pending, records=505, now_ms=1_250))
    progress.on_report(Report.aborted(CheckpointId(8), "declined"))
    progress.on_report(Report.failure(ONE, "killed"))
    progress.on_report(Report.recovered(ONE, CheckpointId(7), took_ms=1_500))
    found = values(exposition('a "quoted" job', progress.snapshot()).decode())
    of = 'job="a \\"quoted\\" job"'
    assert found[f'weir_job_phase{{{of},phase="running"}}'] == 1
    assert found[f"weir_job_records{{{of}}}"] == 500 + 10
    assert found[f"weir_job_last_completed_checkpoint_id{{{of}}}"] == 7
    assert found[f"weir_job_last_checkpoint_duration_seconds{{{of}}}"] == 0.25
    assert 0 <= found[f"weir_job_last_completed_checkpoint_age_seconds{{{of}}}"] < 60
    assert found[f"weir_job_checkpoints_completed_total{{{of}}}"] == found[f"weir_job_checkpoints_failed_total{{{of}}}"] == 1
    for word in ("in_progress", "completed", "failed"):
        assert found[f"weir_job_number_of_{word}_checkpoints{{{of}}}"] == 1
    assert found[f"weir_job_last_checkpoint_size_bytes{{{of}}}"] == 60, "the size excludes the file of an earlier checkpoint"
    assert found[f"weir_job_last_checkpoint_full_size_bytes{{{of}}}"] == 100
    assert found[f'weir_source_lag_records{{{of},source="in"}}'] == 42
    assert found[f'weir_source_lag_seconds{{{of},source="in"}}'] == 4.5
    assert found[f'weir_operator_gauge{{gauge="a.x",{of},slot="0"}}'] == 7
    assert found[f'weir_chain_operator{{chain="0",{of},operator="a"}}'] == 1
    assert found[f'weir_slot_rss_bytes{{{of},slot="1"}}'] == 1 << 20
    assert found[f"weir_job_num_restarts_total{{{of}}}"] == 1
    assert found[f"weir_job_recovery_downtime_seconds_total{{{of}}}"] == 1.5
    assert found[f'weir_subtask_records_in_total{{chain="0",{of},subtask="1"}}'] == 10
    assert found[f'weir_subtask_busy_seconds_total{{chain="0",{of},subtask="1"}}'] == 4


def test_a_new_generation_has_no_checkpoints_in_progress() -> None:
    progress = JobProgress(frozenset())
    progress.on_phase(JobPhase.RUNNING, ONE)
    progress.on_report(Report.triggered(CheckpointId(7), CheckpointKind.PERIODIC))
    assert progress.snapshot().in_progress == 1
    progress.on_report(Report.starting(Generation(2), records=0))
    assert progress.snapshot().in_progress == 0


def test_a_job_that_has_not_started_has_metrics() -> None:
    assert "weir_job_phase" in exposition("flights", JobProgress(frozenset()).snapshot()).decode()


def test_only_requests_with_the_token_succeed() -> None:
    port = free_port()
    with serve_metrics(MetricsOptions(MetricsAddress("127.0.0.1", port), TOKEN)) as page:
        page.show(lambda: b"weir_up 1\n")
        assert get(port, Authorization=f"Bearer {TOKEN}") == (200, "weir_up 1\n")
        assert get(port, "/elsewhere", Authorization=f"Bearer {TOKEN}")[0] == 404
        for wrong in ({}, {"Authorization": f"Bearer {TOKEN}x"}, {"Authorization": TOKEN}, {"Authorization": "Bearer \xff"}):
            assert get(port, **wrong) == (401, "The token is missing or wrong.\n")
    with pytest.raises(ConnectionRefusedError):
        get(port)


def test_a_slow_client_is_disconnected_and_does_not_delay_other_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weir.cli.metrics.REQUEST_S_MAX", 0.5)
    port = free_port()
    with serve_metrics(MetricsOptions(MetricsAddress("127.0.0.1", port), TOKEN)) as page, contextlib.ExitStack() as clients:
        page.show(lambda: b"weir_up 1\n")
        first, *others = [
            clients.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(CONNECTIONS_MAX - 1)
        ]
        first.sendall(b"GET /metrics HTTP/1.0\r\nX: ")
        assert get(port, Authorization=f"Bearer {TOKEN}") == (200, "weir_up 1\n")
        for one in (first, *others):
            one.settimeout(20)
            assert one.recv(1) == b"", "the server closes the connection of a slow client"


def test_a_connection_above_the_limit_replaces_the_oldest_connection_without_the_token() -> None:
    port = free_port()
    with serve_metrics(MetricsOptions(MetricsAddress("127.0.0.1", port), TOKEN)) as page, contextlib.ExitStack() as clients:
        page.show(lambda: b"weir_up 1\n")
        connections = [clients.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(CONNECTIONS_MAX + 3)]
        for one in connections[:3]:
            one.settimeout(3)
            assert one.recv(1) == b""
        assert get(port, Authorization=f"Bearer {TOKEN}") == (200, "weir_up 1\n")


def test_strangers_that_hold_all_connections_do_not_delay_a_request_with_the_token() -> None:
    port = free_port()
    with serve_metrics(MetricsOptions(MetricsAddress("127.0.0.1", port), TOKEN)) as page, contextlib.ExitStack() as clients:
        page.show(lambda: b"weir_up 1\n")
        for _ in range(3):
            for _ in range(CONNECTIONS_MAX):
                stranger = clients.enter_context(socket.create_connection(("127.0.0.1", port)))
                stranger.sendall(b"GET /metrics HTTP/1.0\r\nX: ")
            assert get(port, Authorization=f"Bearer {TOKEN}") == (200, "weir_up 1\n")


def test_a_connection_above_the_limit_is_closed_if_all_other_connections_have_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weir.cli.metrics.REQUEST_S_MAX", 120.0)
    port = free_port()
    rendering, release = threading.Semaphore(0), threading.Event()

    def render() -> bytes:
        rendering.release()
        release.wait(20)
        return b"weir_up 1\n"

    request = f"GET /metrics HTTP/1.0\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    with serve_metrics(MetricsOptions(MetricsAddress("127.0.0.1", port), TOKEN)) as page, contextlib.ExitStack() as clients:
        page.show(render)
        served = [clients.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(CONNECTIONS_MAX)]
        for one in served:
            one.sendall(request)
            assert rendering.acquire(timeout=20)
        refused = clients.enter_context(socket.create_connection(("127.0.0.1", port)))
        refused.settimeout(20)
        assert refused.recv(1) == b""
        release.set()
        for one in served:
            one.settimeout(20)
            assert one.recv(12) == b"HTTP/1.0 200"


def test_the_metrics_token_is_visible_neither_in_the_environment_nor_in_the_repr() -> None:
    environment = {"WEIR_METRICS_TOKEN": TOKEN}
    options = take_metrics_options("[::1]:9400", environment)
    assert options == MetricsOptions(MetricsAddress("::1", 9400), TOKEN) and not environment
    assert TOKEN not in repr(options)
    several = take_metrics_options("0.0.0.0:9400-9419", {"WEIR_METRICS_TOKEN": TOKEN})
    assert several == MetricsOptions(MetricsAddress("0.0.0.0", 9400, 20), TOKEN)
    assert take_metrics_options(None, {}) is None


@pytest.mark.parametrize(
    "address",
    ["9400", ":9400", "localhost", "localhost:port", "localhost:70000", "localhost:9400-", "localhost:9410-9400", "localhost:0-5",
     "localhost:9400-65536", "localhost:9000-10000"],
)  # fmt: skip
def test_an_invalid_metrics_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=r"write HOST:PORT"):
        take_metrics_options(address, {"WEIR_METRICS_TOKEN": TOKEN})


@pytest.mark.parametrize("token", ["", "short", "with a blank in it, long"])
def test_without_a_valid_token_no_metrics_port_is_opened(token: str) -> None:
    with pytest.raises(ConfigError, match="Set WEIR_METRICS_TOKEN"):
        take_metrics_options("127.0.0.1:9400", {"WEIR_METRICS_TOKEN": token})


def test_a_metrics_port_that_is_in_use_is_refused_before_the_job_starts() -> None:
    port = free_port()
    options = MetricsOptions(MetricsAddress("127.0.0.1", port), TOKEN)
    with (
        serve_metrics(options),
        pytest.raises(ConfigError, match=rf"Cannot listen on --metrics 127\.0\.0\.1:{port}: .*Choose another address"),
        serve_metrics(options),
    ):
        pass


def two_adjacent_free_ports() -> int:
    """Return the lower one of two adjacent free ports. Both ports are below the range of ephemeral ports."""
    for port in range(20_000 + os.getpid() % 10_000, 32_000, 2):
        with contextlib.suppress(OSError), socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", port))
            other.bind(("127.0.0.1", port + 1))
            return port
    raise AssertionError("no two adjacent ports are free")


def test_metrics_are_served_on_the_first_free_port_of_a_range() -> None:
    port = two_adjacent_free_ports()
    with serve_metrics(MetricsOptions(MetricsAddress("127.0.0.1", port), TOKEN)) as taken:
        both = MetricsOptions(MetricsAddress("127.0.0.1", port, 2), TOKEN)
        with serve_metrics(both) as second:
            assert taken.port == port and second.port == port + 1
            second.show(lambda: b"weir_up 2\n")
            assert get(second.port, Authorization=f"Bearer {TOKEN}") == (200, "weir_up 2\n")
            with pytest.raises(ConfigError, match=rf"--metrics 127\.0\.0\.1:{port}-{port + 1}: "), serve_metrics(both):
                pass


@pytest.mark.parametrize("host", ["127.0.0.1", "203.0.113.1", "no.such.host.invalid"])
def test_a_run_of_a_platform_continues_if_metrics_cannot_be_served(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    with serve_metrics(MetricsOptions(MetricsAddress("127.0.0.1", 0), TOKEN)) as taken:
        assert taken.port is not None
        with serve_metrics(MetricsOptions(MetricsAddress(host, taken.port), TOKEN), optional=True) as page:
            page.show(lambda: b"")
            assert page.port is None
    printed = capsys.readouterr()
    assert "metrics are not served" in printed.out + printed.err and TOKEN not in printed.out + printed.err
