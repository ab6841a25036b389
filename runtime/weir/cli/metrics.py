"""``weir run --metrics HOST:PORT``: Prometheus metrics of a driver. If the control plane also exports a metric, the metric has
the same name in both exports."""

from __future__ import annotations

import errno
import hmac
import socket
import sys
import threading
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from weir.coordinator.progress import ProgressSnapshot
from weir.errors import ConfigError
from weir.protocol.lag import source_lags
from weir.protocol.metrics_address import TOKEN_CHARACTERS_MIN, MetricsAddress, is_token, parse_address

TOKEN = "WEIR_METRICS_TOKEN"
PATH = "/metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
REQUEST_S_MAX = 5.0
"""The server closes a connection after this number of seconds, even if the client is still sending."""
CONNECTIONS_MAX = 16
_COUNTERS = ("records_in", "records_out", "bytes_in", "bytes_out")
_TIMES = ("busy", "idle", "backpressured", "queued")

log = structlog.get_logger(__name__)

# ---- the server --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MetricsOptions:
    """``address`` can contain a range of ports. The server logs the port that it uses."""

    address: MetricsAddress
    token: str = field(repr=False)


def take_metrics_options(address: str | None, environment: MutableMapping[str, str]) -> MetricsOptions | None:
    """Parse ``--metrics`` and remove the token from ``environment``. Raises ConfigError."""
    token = environment.pop(TOKEN, "")
    if address is None:
        return None
    try:
        parsed = parse_address(address)
    except ConfigError as error:
        raise ConfigError(f"--metrics {error}") from None
    if not is_token(token):
        raise ConfigError(
            f"--metrics needs a token. Set {TOKEN} to a word of {TOKEN_CHARACTERS_MIN} characters or more (openssl rand -hex 24) "
            "and give the token to Prometheus as credentials of type Bearer."
        )
    return MetricsOptions(parsed, token)


class MetricsPage:
    """The metrics page that the server sends. The page is empty until ``show`` is called."""

    def __init__(self) -> None:
        self.render: Callable[[], bytes] = lambda: b""
        self.port: int | None = None
        """The port of the server, or None if no server is running."""

    def show(self, render: Callable[[], bytes]) -> None:
        """The server calls ``render`` for each request, in a server thread."""
        self.render = render


@contextmanager
def serve_metrics(options: MetricsOptions | None, *, optional: bool = False) -> Iterator[MetricsPage]:
    """Serve metrics inside the ``with`` block. Raises ConfigError before the block runs if the address cannot be used.

    With ``optional``, an address that cannot be used causes a warning instead of an error. A run that a control plane starts
    sets ``optional``, because no user can choose another address for this run.
    """
    page = MetricsPage()
    if options is None:
        yield page
        return
    try:
        server = _start_listening(options, page)
    except ConfigError as error:
        if not optional:
            raise
        log.warning("metrics are not served", reason=str(error))
        yield page
        return
    page.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, name="weir-metrics", daemon=True)
    thread.start()
    log.info("serving metrics", address=f"http://{_host(options)}:{server.server_port}{PATH}")
    try:
        yield page
    finally:
        server.shutdown()
        server.server_close()


def _start_listening(options: MetricsOptions, page: MetricsPage) -> _Server:
    """Listen on the first free port of the range. Raises ConfigError."""
    address = options.address
    problem: OSError | None = None
    for port in range(address.port, address.port + address.ports):
        try:
            return _Server(options, port, page)
        except OSError as error:
            problem = error
            if error.errno != errno.EADDRINUSE:
                break
    assert problem is not None
    ports = f"{address.port}-{address.port + address.ports - 1}" if address.ports > 1 else f"{address.port}"
    raise ConfigError(
        f"Cannot listen on --metrics {_host(options)}:{ports}: {problem.strerror or problem}. Choose another address."
    )


def _host(options: MetricsOptions) -> str:
    return f"[{options.address.host}]" if ":" in options.address.host else options.address.host


class _Server(ThreadingHTTPServer):
    """The metrics server. Each connection has its own thread, so that a slow client does not delay other clients.

    A connection above CONNECTIONS_MAX replaces the oldest connection that has not sent the token yet. So clients without the
    token cannot block a client that sends the token at once.
    """

    daemon_threads = True
    request_queue_size = 128
    """The maximum number of connections that wait for ``accept``. The number is higher than CONNECTIONS_MAX, so that the system
    does not refuse connections during a burst of clients."""

    def __init__(self, options: MetricsOptions, port: int, page: MetricsPage) -> None:
        self.expected = f"Bearer {options.token}".encode()
        self.page = page
        self.address_family = socket.AF_INET6 if ":" in options.address.host else socket.AF_INET
        self._lock = threading.Lock()
        self._connections: dict[socket.socket, bool] = {}
        """For each open connection, whether the client has sent the token. The oldest connection comes first."""
        super().__init__((options.address.host, port), _Handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        with self._lock:
            if len(self._connections) >= CONNECTIONS_MAX:
                replaced = next((one for one, has_token in self._connections.items() if not has_token), None)
                if replaced is None:
                    return False
                del self._connections[replaced]
                _close(replaced)
            self._connections[request] = False
            return True

    def authenticated(self, request: socket.socket) -> None:
        """Keep the connection open until its response is sent."""
        with self._lock:
            if request in self._connections:
                self._connections[request] = True

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        timer = threading.Timer(REQUEST_S_MAX, _close, (request,))
        timer.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            timer.cancel()
            with self._lock:
                self._connections.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        # It is not a bug if a client disconnects or the server replaces the connection of a client.
        log.debug("metrics request failed", reason=repr(error), exc_info=not isinstance(error, OSError))


def _close(request: socket.socket) -> None:
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "weir", ""

    def do_GET(self) -> None:
        if not hmac.compare_digest(self.headers.get("Authorization", "").encode("latin-1", "replace"), self.server.expected):
            self._respond(HTTPStatus.UNAUTHORIZED, b"The token is missing or wrong.\n", "text/plain; charset=utf-8")
            return
        self.server.authenticated(self.connection)
        if self.path.partition("?")[0] != PATH:
            self._respond(HTTPStatus.NOT_FOUND, f"The only path is {PATH}.\n".encode(), "text/plain; charset=utf-8")
        else:
            self._respond(HTTPStatus.OK, self.server.page.render(), CONTENT_TYPE)

    def _respond(self, status: HTTPStatus, body: bytes, content_type: str) -> None:
        self.send_response(status)
        if status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", "Bearer")
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        log.debug("metrics request", request=format % arguments)


# ---- the metrics -------------------------------------------------------------------------------


def exposition(job: str, snapshot: ProgressSnapshot) -> bytes:
    """Return the metrics of a snapshot in the text format of Prometheus. Pure."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_JobCollector(job, snapshot))
    return generate_latest(registry)


class _JobCollector:
    """A prometheus_client collector of one snapshot."""

    def __init__(self, job: str, snapshot: ProgressSnapshot) -> None:
        self._job = job
        self._snapshot = snapshot

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        state = GaugeMetricFamily("weir_job_phase", "1 for the current phase of the job", labels=["job", "phase"])
        state.add_metric([self._job, self._snapshot.phase], 1)
        yield state
        yield self._gauge("weir_job_generation", "Grows with each recovery", self._snapshot.generation)
        # Not a counter, because the number goes back to that of the restored checkpoint after a recovery. Prometheus would take
        # this decrease for a restart of the counter at 0.
        yield self._gauge(
            "weir_job_records", "Records that the sources have read, including before a restore", self._snapshot.records
        )
        yield self._gauge("weir_driver_slots_rss_bytes", "Peak resident memory of all slots", self._snapshot.peak_rss_bytes)
        yield from self._checkpoints()
        yield from self._recoveries()
        yield from self._subtasks()
        yield from self._slots()

    def _gauge(self, name: str, text: str, value: float) -> Metric:
        family = GaugeMetricFamily(name, text, labels=["job"])
        family.add_metric([self._job], value)
        return family

    def _counter(self, name: str, text: str, value: float) -> Metric:
        family = CounterMetricFamily(name, text, labels=["job"])
        family.add_metric([self._job], value)
        return family

    def _checkpoints(self) -> Iterator[Metric]:
        snapshot = self._snapshot
        yield self._counter("weir_job_checkpoints_completed", "Since this driver started", snapshot.completed_total)
        yield self._counter("weir_job_checkpoints_failed", "Since this driver started", snapshot.aborted_total)
        counts = {"in_progress": snapshot.in_progress, "completed": snapshot.completed_total, "failed": snapshot.aborted_total}
        for state, count in counts.items():
            yield self._gauge(f"weir_job_number_of_{state}_checkpoints", "Since this driver started", count)
        if not snapshot.completed:
            return
        last = snapshot.completed[-1]
        yield self._gauge("weir_job_last_checkpoint_duration_seconds", "End to end", last.end_to_end_ms / 1_000)
        yield self._gauge("weir_job_last_checkpoint_size_bytes", "Bytes that it wrote", last.checkpointed_bytes)
        yield self._gauge("weir_job_last_checkpoint_full_size_bytes", "Bytes that it references", last.state_bytes)
        yield self._gauge("weir_job_last_completed_checkpoint_id", "Checkpoint id", last.checkpoint)
        assert snapshot.last_completed_age_ms is not None
        yield self._gauge(
            "weir_job_last_completed_checkpoint_age_seconds",
            "Time since the last checkpoint completed",
            snapshot.last_completed_age_ms / 1_000,
        )

    def _recoveries(self) -> Iterator[Metric]:
        snapshot = self._snapshot
        yield self._counter("weir_job_num_restarts", "Recoveries since this driver started", snapshot.recoveries_total)
        yield self._counter(
            "weir_job_recovery_downtime_seconds",
            "Total downtime: from each failure until all subtasks run again",
            snapshot.downtime_total_ms / 1_000,
        )

    def _subtasks(self) -> Iterator[Metric]:
        names = ["job", "chain", "subtask"]
        counters = {name: CounterMetricFamily(f"weir_subtask_{name}", "Since its deployment", labels=names) for name in _COUNTERS}
        times = {
            name: CounterMetricFamily(f"weir_subtask_{name}_seconds", "Since its deployment", labels=names) for name in _TIMES
        }
        for subtask in self._snapshot.subtasks:
            labels = [self._job, str(subtask.chain), str(subtask.index)]
            for name, family in counters.items():
                family.add_metric(labels, getattr(subtask, name))
            for name, family in times.items():
                family.add_metric(labels, getattr(subtask, f"{name}_us") / 1e6)
        yield from (*counters.values(), *times.values())
        operators = GaugeMetricFamily(
            "weir_chain_operator",
            "Always 1. The label 'operator' contains the uid of an operator of the chain",
            labels=["job", "chain", "operator"],
        )
        for chain, uid in self._snapshot.operators:
            operators.add_metric([self._job, str(chain), uid], 1)
        yield operators

    def _slots(self) -> Iterator[Metric]:
        memory = GaugeMetricFamily("weir_slot_rss_bytes", "Resident memory of the slot's process", labels=["job", "slot"])
        gauges = GaugeMetricFamily("weir_operator_gauge", "Gauges of operators", labels=["job", "slot", "gauge"])
        for slot in self._snapshot.slots:
            memory.add_metric([self._job, str(slot.slot)], slot.rss_bytes)
            for name, value in slot.gauges.items():
                if isinstance(value, (int, float)):
                    gauges.add_metric([self._job, str(slot.slot), name], value)
        yield from (memory, gauges)
        for unit, lags in zip(("records", "seconds"), source_lags(slot.gauges for slot in self._snapshot.slots), strict=True):
            family = GaugeMetricFamily(f"weir_source_lag_{unit}", "Lag that the source reports", labels=["job", "source"])
            for source, lag in lags.items():
                family.add_metric([self._job, source], lag)
            yield family
