"""Throughput of the data plane alone: each slot is a process, and sends batches of two int64 columns to all other slots.

``python bench/exchange.py [--slots 4] [--seconds 5] [--rows 65536]`` runs the benchmark. Every slot repeatedly sends the same
batch to every other slot. Credit limits the sends, as in the loop of a slot. Every slot counts the rows that arrive, and checks
that batches arrive intact and in order. The handshake, the content hash and the full validation are enabled.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from multiprocessing.connection import Connection as Pipe

import numpy as np
import pyarrow as pa

from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import ChannelId, Generation, SlotIndex
from weir.transport.exchange import DataExchange, PeerLost
from weir.transport.handshake import JobCredentials

CREDENTIALS = JobCredentials(b"a secret for the benchmark only.", "bench")
GENERATION = Generation(1)
CREDIT_BYTES = 4 * 1024 * 1024
SCHEMA = pa.schema([("key", pa.int64()), ("value", pa.int64())])


class BenchSlot:
    def __init__(self, me: int, rows: int) -> None:
        self.me = SlotIndex(me)
        self.exchange = DataExchange(CREDENTIALS, host="127.0.0.1", incarnation=f"bench-{me}", log_connection=print)
        keys = np.random.default_rng(me).integers(0, 1 << 60, rows)
        self.batch = pa.record_batch([pa.array(keys), pa.array(np.arange(rows))], schema=SCHEMA)
        self.credit: dict[SlotIndex, int] = {}
        self.sequence_out: dict[SlotIndex, int] = {}
        self.sequence_in: dict[SlotIndex, int] = {}
        self.rows_in = 0

    def open(self, ports: dict[int, int]) -> None:
        peers = {SlotIndex(slot): ("127.0.0.1", port) for slot, port in ports.items() if slot != self.me}
        self.exchange.open_generation(GENERATION, self.me, peers, lambda edge: SCHEMA)
        self.credit = dict.fromkeys(peers, CREDIT_BYTES)
        self.sequence_out = dict.fromkeys(peers, 0)
        self.sequence_in = dict.fromkeys(peers, 0)
        while not self.exchange.ready():
            self.turn(sending=False)

    def turn(self, *, sending: bool) -> None:
        sent = False
        for slot, credit in self.credit.items() if sending else ():
            if credit >= self.batch.nbytes:
                channel = ChannelId(0, self.me, slot)
                self.exchange.send(slot, Frame(FrameKind.DATA, channel, GENERATION, 0, self.sequence_out[slot],
                                               batch=self.batch, bytes_held=self.batch.nbytes))  # fmt: skip
                self.sequence_out[slot] += 1
                self.credit[slot] -= self.batch.nbytes
                sent = True
        for event in self.exchange.pump(time.monotonic_ns(), 0 if sent else 50_000_000):
            if isinstance(event, PeerLost):
                raise SystemExit(f"slot {self.me} lost slot {event.slot}: {event.reason}")
            assert isinstance(event, Frame)
            self.receive(event)

    def receive(self, frame: Frame) -> None:
        if frame.kind is FrameKind.CREDIT:
            self.credit[SlotIndex(frame.channel.target)] += frame.argument
            return
        source = SlotIndex(frame.channel.source)
        assert isinstance(frame.batch, pa.RecordBatch)
        assert frame.sequence == self.sequence_in[source], "out of order"
        self.sequence_in[source] += 1
        assert frame.batch.column(1)[-1].as_py() == frame.batch.num_rows - 1, "damaged"
        self.rows_in += frame.batch.num_rows
        self.exchange.send(source, Frame(FrameKind.CREDIT, frame.channel, GENERATION, 0, 0, argument=frame.bytes_held))


def run_slot(me: int, rows: int, seconds: float, pipe: Pipe) -> None:
    slot = BenchSlot(me, rows)
    pipe.send(slot.exchange.port)
    slot.open(pipe.recv())
    pipe.send("ready")
    begin = pipe.recv()
    # Warm up memory pools and TCP windows for half a second, then measure.
    while time.monotonic() < begin + 0.5:
        slot.turn(sending=True)
    first, cpu_first = slot.rows_in, time.process_time()
    while time.monotonic() < begin + 0.5 + seconds:
        slot.turn(sending=True)
    pipe.send((slot.rows_in - first, time.process_time() - cpu_first))
    # Continue until all slots have measured: if a slot stopped early, the other slots would report it as lost.
    while not pipe.poll():
        slot.turn(sending=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rows", type=int, default=65_536)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for me in range(arguments.slots):
        ours, theirs = context.Pipe()
        process = context.Process(target=run_slot, args=(me, arguments.rows, arguments.seconds, theirs), daemon=True)
        process.start()
        pipes.append(ours)
        processes.append(process)
    ports = {me: pipe.recv() for me, pipe in enumerate(pipes)}
    for pipe in pipes:
        pipe.send(ports)
    for pipe in pipes:
        pipe.recv()
    begin = time.monotonic() + 0.1
    for pipe in pipes:
        pipe.send(begin)
    results = [pipe.recv() for pipe in pipes]
    for process in processes:
        process.terminate()
    rows = sum(result[0] for result in results)
    cpu = sum(result[1] for result in results)
    print(f"{arguments.slots} slots: {rows / arguments.seconds / 1e6:.1f} M rows/s, "
          f"{rows * 16 / arguments.seconds / 1e9:.2f} GB/s, {cpu / arguments.seconds:.2f} cores busy, "
          f"{rows / cpu / 1e6:.1f} M rows per core second")  # fmt: skip


if __name__ == "__main__":
    main()
