"""A slot process: the sockets, threads, storage and clock around the runtime in slot.py."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
import uuid
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import structlog

from weir.graph.physical import PhysicalGraph
from weir.operators.base import SnapshotFiles, SnapshotReader
from weir.protocol import codec
from weir.protocol.bootstrap import SlotBootstrap, SparkTaskInfo
from weir.protocol.frames import Frame
from weir.protocol.ids import CheckpointId, Generation, SlotIncarnation, SlotIndex
from weir.protocol.messages import Acknowledge, Deploy, FromSlot, Register, SlotMetrics, Stop
from weir.protocol.snapshots import StateFile
from weir.secrets import set_platform_secrets
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage
from weir.storage.probe import SharedStorageMarker
from weir.storage.state_files import RestoreProgress, StateFiles, StateReader
from weir.subtask.background import DeploymentExecutors
from weir.subtask.control_connection import ControlConnection, exit_process
from weir.subtask.deployment import SlotSettings
from weir.subtask.environment import Done
from weir.subtask.heartbeats import HeartbeatSender, StackSampler
from weir.subtask.profiler import SlotProfiler
from weir.subtask.program import JobProgram, edge_schema, load_code, warm_up
from weir.subtask.settings import ProcessSettings, configure_logs
from weir.subtask.slot import SlotRuntime
from weir.subtask.timing import CoreWaitClock
from weir.transport.exchange import DataExchange, FdReady, PeerLost
from weir.transport.handshake import JobCredentials
from weir.transport.poller import Poller, Wakeup

TURNS_NS = 1_000_000
"""The loop runs turns for this long before it polls the sockets again."""
METRICS_NS = 1_200_000_000
"""The maximum time between two reports of metrics. If a slot acknowledges a checkpoint in the second half of this time, it sends both
messages together, because each message that is sent alone wakes a thread here and another in the coordinator."""
CALLS_NS_MAX = 1_000_000_000
"""Maximum time that the process waits after Stop until its background calls have ended."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Finished:
    done: Done
    result: object
    error: BaseException | None


class SlotProcess:
    """The SlotEnvironment of a process, and its loop."""

    def __init__(self, bootstrap: SlotBootstrap, task: int, spark_task: SparkTaskInfo) -> None:
        settings = codec.from_json(ProcessSettings, dict(bootstrap.settings))
        configure_logs(settings.logs)
        self._settings = settings
        self._incarnation = SlotIncarnation(uuid.uuid4().hex)
        credentials = JobCredentials(bootstrap.secret, bootstrap.job)
        host = _own_address(bootstrap.host, bootstrap.port)
        # Spark reuses its Python workers, so a failed start must close all resources that it has opened.
        with contextlib.ExitStack() as opened:
            self._open(bootstrap, task, spark_task, credentials, host, opened)
            self._opened = opened.pop_all()

    def _open(
        self,
        bootstrap: SlotBootstrap,
        task: int,
        spark_task: SparkTaskInfo,
        credentials: JobCredentials,
        host: str,
        opened: contextlib.ExitStack,
    ) -> None:
        settings = self._settings
        self._exchange = DataExchange(
            credentials,
            host=host,
            ports=bootstrap.data_ports,
            incarnation=self._incarnation,
            log_connection=lambda text: log.debug("data connection", detail=text),
            dial_timeout_ns=settings.timeouts.connect_timeout_ms * 1_000_000,
        )
        opened.callback(self._exchange.close)
        self._inbox_poller = Poller()
        opened.callback(self._inbox_poller.close)
        self._wakeup = Wakeup(self._inbox_poller)
        self._exchange.register(self._inbox_poller.fileno(), "inbox")
        self._heartbeats = HeartbeatSender(
            credentials,
            host=bootstrap.host,
            port=bootstrap.port,
            run=settings.run,
            incarnation=self._incarnation,
            heartbeat_ms=settings.timeouts.heartbeat_ms,
            dial_timeout_ns=settings.timeouts.connect_timeout_ms * 1_000_000,
        )
        opened.callback(self._heartbeats.close)
        self._sampler = StackSampler(
            self._heartbeats,
            step_ns=settings.step_sample_ms * 1_000_000,
            call_ns=settings.call_sample_ms * 1_000_000,
            send=self.send_control,
        )
        opened.callback(self._sampler.close)
        self._profiler = SlotProfiler(self.send_control)
        opened.callback(self._profiler.close)
        self._control = ControlConnection(
            credentials,
            host=bootstrap.host,
            port=bootstrap.port,
            run=settings.run,
            incarnation=self._incarnation,
            lease_ms=bootstrap.lease_ms,
            wake=self._wakeup.wake,
            timeouts=settings.timeouts,
            supervise=self._sampler.check,
            take_profile=self._profiler.start,
        )
        opened.callback(self._control.close)
        self._register = Register(
            self._incarnation, task, spark_task.spark_task, host, self._exchange.port, os.getpid(), spark_task.executor
        )
        self._storage = open_storage(settings.storage_url, dict(settings.storage_options))
        self._marker = SharedStorageMarker(self._storage, bootstrap.job, settings.run)
        self._layout = JobLayout(bootstrap.job)
        self._restored = CheckpointId(0)
        self._finished: deque[_Finished] = deque()
        self._idle_wait_ns = settings.timeouts.heartbeat_ms * 1_000_000
        """An idle loop makes a turn after this time, so that the coordinator does not take it for a loop that is stuck."""
        self._metrics_at_ns = 0
        """The time at which the next metrics are due."""
        self._core_wait = CoreWaitClock()
        opened.callback(self._core_wait.close)
        self._runtime = SlotRuntime(
            JobProgram(load_code(bootstrap.code, spark_task.host), batch_rows=settings.batch_rows),
            self,
            SlotSettings(
                batch_rows=settings.batch_rows,
                network_bytes=settings.network_bytes,
                buffer_timeout_ms=settings.buffer_timeout_ms,
            ),
        )
        opened.callback(self._runtime.on_control, Stop("the slot process ends"))

    # ---- environment ---------------------------------------------------------------------------------

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def thread_cpu_ns(self) -> int:
        return time.thread_time_ns()

    def core_wait_ns(self) -> int:
        return self._core_wait.read_ns()

    def send_control(self, message: FromSlot) -> None:
        if isinstance(message, Acknowledge) and time.monotonic_ns() > self._metrics_at_ns - METRICS_NS // 2:
            self._control.send(message, *self._due_metrics())
        else:
            self._control.send(message)

    def send_frame(self, slot: int, frame: Frame) -> None:
        self._exchange.send(SlotIndex(slot), frame)

    def open_channels(self, deploy: Deploy, graph: PhysicalGraph) -> None:
        self._marker.check()
        self._restored = deploy.restored_checkpoint or CheckpointId(0)
        peers = {peer.slot: (peer.host, peer.data_port) for peer in deploy.peers}
        self._exchange.open_generation(deploy.generation, deploy.slot, peers, lambda edge: edge_schema(graph, edge))

    def channels_ready(self) -> bool:
        return self._exchange.ready()

    def close_channels(self) -> None:
        self._exchange.close_generation()

    def open_background(self) -> DeploymentExecutors:
        def finished(done: Done, result: object, error: BaseException | None) -> None:
            self._finished.append(_Finished(done, result, error))
            self._wakeup.wake()

        return DeploymentExecutors(on_call=self._heartbeats.call, wake=self._wakeup.wake, finished=finished)

    def step_begins(self, chain: int) -> None:
        self._heartbeats.step(chain)

    def snapshot_files(self, generation: Generation, checkpoint: CheckpointId) -> SnapshotFiles:
        return StateFiles(
            self._storage, self._layout, generation=generation, checkpoint=checkpoint, attempt=self._incarnation[:12]
        )  # fmt: skip

    def snapshot_reader(self, files: Sequence[StateFile], progress: RestoreProgress) -> AbstractContextManager[SnapshotReader]:
        return StateReader(self._storage, self._layout, self._restored, files, progress)

    def rss_bytes(self) -> int:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    # ---- the loop --------------------------------------------------------------------------------

    def run(self) -> None:
        """Run the loop until the coordinator sends Stop, then close all resources. All resources are also closed after an
        error. Call ``run`` once."""
        with self._opened:
            self._control.start(self._register)
            self._heartbeats.start()
            self._sampler.arm(time.monotonic_ns())
            # The objects that exist now are not garbage before the end of the run. A full collection does not visit frozen objects.
            gc.collect()
            gc.freeze()
            self._opened.callback(gc.unfreeze)
            received = worked = unfinished = False
            while self._runtime.stop_reason is None:
                now_ns = time.monotonic_ns()
                wait_ns = 0 if unfinished else self._wait_ns(now_ns)
                nap_ns = min(wait_ns, self._runtime.nap_ns(worked=worked)) if received and wait_ns else 0
                if nap_ns:
                    self._exchange.flush()
                    time.sleep(nap_ns / 1e9)
                    now_ns += nap_ns
                    wait_ns -= nap_ns
                received = self._pump(now_ns, wait_ns)
                self._handle_inbox()
                self._heartbeats.turn()
                worked, unfinished = self._turns()
                if time.monotonic_ns() >= self._metrics_at_ns:
                    self._control.send(*self._due_metrics())
            self._end_background_calls()

    def _end_background_calls(self) -> None:
        """Wait until all background calls have ended. If a call does not end, exit the process. If the process did not exit,
        Spark would reuse it although the thread of the call still hangs."""
        until_ns = time.monotonic_ns() + CALLS_NS_MAX
        while not self._runtime.close_earlier_deployments():
            if time.monotonic_ns() > until_ns:
                exit_process("a background call has not ended after Stop")
            time.sleep(0.01)

    def _turns(self) -> tuple[bool, bool]:
        """Run turns until no work is due, but at most for about TURNS_NS. Return whether a turn had work, and whether work can still
        be due."""
        until_ns = time.monotonic_ns() + TURNS_NS
        worked = False
        while self._runtime.turn():
            worked = True
            if time.monotonic_ns() >= until_ns:
                return True, True
        return worked, False

    def _wait_ns(self, now_ns: int) -> int:
        wake_at_ns = self._runtime.wake_at_ns()
        until_ns = self._metrics_at_ns if wake_at_ns is None else min(wake_at_ns, self._metrics_at_ns)
        return max(0, min(self._idle_wait_ns, until_ns - now_ns))

    def _pump(self, now_ns: int, timeout_ns: int) -> bool:
        """Send and receive. Return whether frames have arrived."""
        received = False
        for event in self._exchange.pump(now_ns, timeout_ns):
            match event:
                case Frame():
                    self._runtime.on_frame(event)
                    received = True
                case FdReady():
                    for handler, mask in self._inbox_poller.wait(0):
                        handler(mask, now_ns)
                case PeerLost(slot, reason):
                    self._runtime.on_peer_lost(slot, reason)
        return received

    def _handle_inbox(self) -> None:
        while self._finished:
            finished = self._finished.popleft()
            finished.done(finished.result, finished.error)
        for message in self._control.receive():
            self._runtime.on_control(message)

    def _due_metrics(self) -> tuple[SlotMetrics, ...]:
        self._metrics_at_ns = time.monotonic_ns() + METRICS_NS
        metrics = self._runtime.metrics()
        return () if metrics is None else (metrics,)


def _own_address(host: str, port: int) -> str:
    """Return this host's address on the route to the coordinator. Peers connect to this address."""
    import socket

    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, port))
        return str(probe.getsockname()[0])


def run_slot(bootstrap: SlotBootstrap, task: int, spark_task: SparkTaskInfo) -> None:
    """Run a slot in its Spark task, from start to end."""
    # With the default interval, another busy thread would block the loop for 5 ms at a time.
    sys.setswitchinterval(0.0002)
    warm_up()
    set_platform_secrets(bootstrap.platform_secrets)
    SlotProcess(bootstrap, task, spark_task).run()
