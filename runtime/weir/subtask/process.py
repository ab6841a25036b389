"""A slot as a process: real sockets, threads, storage and clock around the runtime of slot.py."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import uuid
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import structlog

from weir.graph.physical import PhysicalGraph
from weir.operators.base import Beside, SnapshotFiles, SnapshotReader
from weir.protocol import codec
from weir.protocol.bootstrap import SlotBootstrap, SparkPlace
from weir.protocol.frames import Frame
from weir.protocol.ids import CheckpointId, Generation, SlotIncarnation, SlotIndex
from weir.protocol.messages import Deploy, FromSlot, Register, Stop
from weir.storage.layout import JobLayout
from weir.storage.open import open_storage
from weir.storage.snapshots import StateFiles, StateReader
from weir.subtask.code import load_code
from weir.subtask.control import ControlLine
from weir.subtask.core_wait import CoreWait
from weir.subtask.deployment import SlotSettings
from weir.subtask.logs import configure_logs
from weir.subtask.process_settings import ProcessSettings
from weir.subtask.program import JobProgram, edge_schema
from weir.subtask.shared_storage import SharedStorage
from weir.subtask.slot import SlotRuntime
from weir.subtask.warm import warm
from weir.transport.exchange import DataExchange, FdReady, PeerLost
from weir.transport.handshake import Credentials
from weir.transport.poller import Poller, Wakeup

IDLE_WAIT_NS = 20_000_000
TURNS_NS = 1_000_000
"""Turns are taken for so long before the sockets are looked at again."""
METRICS_NS = 500_000_000

log = structlog.get_logger(__name__)

Done = Callable[[object, BaseException | None], None]


@dataclass(frozen=True, slots=True)
class _Finished:
    done: Done
    result: object
    error: BaseException | None


class SlotProcess:
    """SlotPorts for a real process, and its loop."""

    def __init__(self, bootstrap: SlotBootstrap, task: int, place: SparkPlace) -> None:
        settings = codec.from_json(ProcessSettings, dict(bootstrap.settings))
        configure_logs(settings.logs)
        self._settings = settings
        self._incarnation = SlotIncarnation(uuid.uuid4().hex)
        credentials = Credentials(bootstrap.secret, bootstrap.job)
        host = _own_address(bootstrap.host, bootstrap.port)
        # Spark uses its Python workers again: what a failed start left open would stay open with them.
        with contextlib.ExitStack() as opened:
            self._open(bootstrap, task, place, credentials, host, opened)
            self._opened = opened.pop_all()

    def _open(
        self,
        bootstrap: SlotBootstrap,
        task: int,
        place: SparkPlace,
        credentials: Credentials,
        host: str,
        opened: contextlib.ExitStack,
    ) -> None:
        settings = self._settings
        self._exchange = DataExchange(
            credentials,
            host=host,
            ports=bootstrap.data_ports,
            incarnation=self._incarnation,
            note=lambda text: log.debug("data plane", what=text),
        )
        opened.callback(self._exchange.close)
        self._inbox_poller = Poller()
        opened.callback(self._inbox_poller.close)
        self._wakeup = Wakeup(self._inbox_poller)
        self._exchange.register(self._inbox_poller.fileno(), "inbox")
        self._control = ControlLine(
            credentials,
            host=bootstrap.host,
            port=bootstrap.port,
            run=settings.run,
            incarnation=self._incarnation,
            lease_ms=bootstrap.lease_ms,
            wake=self._wakeup.wake,
        )
        opened.callback(self._control.close)
        self._register = Register(self._incarnation, task, host, self._exchange.port, os.getpid(), place.executor)
        self._storage = open_storage(settings.storage_url, dict(settings.storage_options))
        self._shared = SharedStorage(self._storage, bootstrap.job, settings.run)
        self._layout = JobLayout(bootstrap.job)
        self._restored = CheckpointId(0)
        self._writers = ThreadPoolExecutor(1, "weir-snapshots")
        opened.callback(self._writers.shutdown, wait=False, cancel_futures=True)
        self._beside = ThreadPoolExecutor(1, "weir-beside")
        opened.callback(self._beside.shutdown, wait=False, cancel_futures=True)
        self._finished: deque[_Finished] = deque()
        self._core_wait = CoreWait()
        opened.callback(self._core_wait.close)
        self._runtime = SlotRuntime(
            JobProgram(load_code(bootstrap.code, place.host), batch_rows=settings.batch_rows),
            self,
            SlotSettings(batch_rows=settings.batch_rows),
        )
        opened.callback(self._runtime.on_control, Stop("the slot leaves"))

    # ---- ports -----------------------------------------------------------------------------------

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def thread_cpu_ns(self) -> int:
        return time.thread_time_ns()

    def core_wait_ns(self) -> int:
        return self._core_wait.read_ns()

    def send_control(self, message: FromSlot) -> None:
        self._control.send(message)

    def send_frame(self, slot: int, frame: Frame) -> None:
        self._exchange.send(SlotIndex(slot), frame)

    def open_channels(self, deploy: Deploy, graph: PhysicalGraph) -> None:
        self._shared.check()
        self._restored = deploy.restored_checkpoint or CheckpointId(0)
        peers = {peer.slot: (peer.host, peer.data_port) for peer in deploy.peers}
        self._exchange.open_generation(deploy.generation, deploy.slot, peers, lambda edge: edge_schema(graph, edge))

    def channels_ready(self) -> bool:
        return self._exchange.ready()

    def close_channels(self) -> None:
        self._exchange.close_generation()

    def background(self, work: Callable[[], object], done: Done) -> None:
        def finished(future: Future[object]) -> None:
            if future.cancelled():
                return  # the slot is leaving
            error = future.exception()
            self._finished.append(_Finished(done, None if error else future.result(), error))
            self._wakeup.wake()

        self._writers.submit(work).add_done_callback(finished)

    def run_beside(self, work: Callable[[], object]) -> Beside:
        future = self._beside.submit(work)
        future.add_done_callback(lambda _: self._wakeup.wake())
        return future

    def snapshot_files(self, generation: Generation, checkpoint: CheckpointId) -> SnapshotFiles:
        return StateFiles(
            self._storage, self._layout, generation=generation, checkpoint=checkpoint, attempt=self._incarnation[:12]
        )  # fmt: skip

    def snapshot_reader(self) -> SnapshotReader:
        return StateReader(self._storage, self._layout, self._restored)

    def rss_bytes(self) -> int:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    # ---- the loop --------------------------------------------------------------------------------

    def run(self) -> None:
        """Returns when the coordinator has said stop; everything is closed then, as after an error. Once."""
        with self._opened:
            self._control.start(self._register)
            next_metrics_ns = 0
            worked = False
            while self._runtime.stop_reason is None:
                now_ns = time.monotonic_ns()
                self._pump(now_ns, 0 if worked else self._wait_ns(now_ns))
                self._control.turns += 1
                worked = self._turns()
                now_ns = time.monotonic_ns()
                if now_ns >= next_metrics_ns:
                    next_metrics_ns = now_ns + METRICS_NS
                    self._send_metrics()

    def _turns(self) -> bool:
        until_ns = time.monotonic_ns() + TURNS_NS
        worked = False
        while self._runtime.turn():
            worked = True
            if time.monotonic_ns() >= until_ns:
                break
        return worked

    def _wait_ns(self, now_ns: int) -> int:
        wake_at_ns = self._runtime.wake_at_ns()
        return IDLE_WAIT_NS if wake_at_ns is None else max(0, min(IDLE_WAIT_NS, wake_at_ns - now_ns))

    def _pump(self, now_ns: int, timeout_ns: int) -> None:
        for event in self._exchange.pump(now_ns, timeout_ns):
            match event:
                case FdReady():
                    for handler, mask in self._inbox_poller.wait(0):
                        handler(mask, now_ns)
                    self._take_inbox()
                case PeerLost(slot, reason):
                    self._runtime.on_peer_lost(slot, reason)
                case Frame():
                    self._runtime.on_frame(event)

    def _take_inbox(self) -> None:
        while self._finished:
            finished = self._finished.popleft()
            finished.done(finished.result, finished.error)
        for message in self._control.receive():
            self._runtime.on_control(message)

    def _send_metrics(self) -> None:
        metrics = self._runtime.metrics()
        if metrics is not None:
            self._control.send(metrics)


def _own_address(host: str, port: int) -> str:
    """The address by which the coordinator's host is reached is the one that peers reach this one by."""
    import socket

    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, port))
        return str(probe.getsockname()[0])


def run_slot(bootstrap: SlotBootstrap, task: int, place: SparkPlace) -> None:
    """The whole life of a slot, in its Spark task."""
    # With a busy second thread the loop would get the interpreter back after 5 ms by default.
    sys.setswitchinterval(0.0002)
    warm()
    SlotProcess(bootstrap, task, place).run()
