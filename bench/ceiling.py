"""The upper bound for the throughput of abs6: the same workload, written by hand for two processes, without fault tolerance.

The graph is ``source -> map -> [by key] count + sum -> [by key // 10] sum -> [by key // 100] sum -> sink``. Each aggregate emits
a running result for every record. The program uses Numba hash tables, Unix sockets and batches of 65,536 records. The program has
no checkpoints, no log, no schema, no recovery, and no flow control except that of the sockets. The program prints one JSON
object: ``{"records": n, "seconds": s, "records_per_s": r, "total": checksum}``.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import socket
import sys
import time

import numpy as np
from numba import njit

BATCH = 65_536
KEYS = 100_000
PROCESSES = 2
STAGES = 3
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _mix(x):  # type: ignore[no-untyped-def]  # compiled
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def _generate(first, keys, values):  # type: ignore[no-untyped-def]  # compiled
    """Generate the output of the map, which doubles each value of the source and adds one."""
    for i in range(len(keys)):
        which = _mix(np.uint64(first + i) * GOLDEN) % np.uint64(KEYS)
        keys[i] = np.int64(_mix((which + np.uint64(1)) * GOLDEN) >> np.uint64(1))
        values[i] = np.int64(which % np.uint64(100)) * 2 + 1


@njit(cache=True, nogil=True)
def _partition(keys, values, ends, divisor, out_keys, out_values, fill):  # type: ignore[no-untyped-def]  # compiled
    for i in range(len(keys)):
        key = keys[i] // divisor
        target = (_mix(np.uint64(key) * GOLDEN) >> np.uint64(32)) % np.uint64(PROCESSES)
        at = fill[target]
        out_keys[target, at] = key
        out_values[target, at] = values[i]
        fill[target] = at + 1


@njit(cache=True, nogil=True)
def _update(table, keys, values, counted, out):  # type: ignore[no-untyped-def]  # compiled
    """Update the hash table and write the running results to ``out``. Columns of ``table``: key, used, count, sum. ``counted``:
    emit the running count instead of the running sum."""
    mask = np.uint64(len(table) - 1)
    for i in range(len(keys)):
        key = keys[i]
        at = _mix(np.uint64(key) * GOLDEN) & mask
        while table[at, 1] and table[at, 0] != key:
            at = (at + np.uint64(1)) & mask
        table[at, 0] = key
        table[at, 1] = 1
        table[at, 2] += 1
        table[at, 3] += values[i]
        out[i] = table[at, 2] if counted else table[at, 3]


class Exchange:
    """A non-blocking connection to the other process. A frame has a stage, a number of rows, keys and values."""

    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer
        peer.setblocking(False)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            peer.setsockopt(socket.SOL_SOCKET, option, 4 << 20)
        self._out: list[memoryview] = []
        self._header = bytearray(16)
        self._got = 0
        self._body: bytearray | None = None

    @property
    def sending(self) -> bool:
        return bool(self._out)

    def send(self, stage: int, rows: int, keys: np.ndarray, values: np.ndarray) -> None:
        header = stage.to_bytes(8, "little") + rows.to_bytes(8, "little")
        payload = header + keys[:rows].tobytes() + values[:rows].tobytes() if rows else header
        self._out.append(memoryview(payload))
        self.flush()

    def flush(self) -> None:
        while self._out:
            try:
                sent = self._peer.send(self._out[0])
            except BlockingIOError:
                return
            self._out[0] = self._out[0][sent:]
            if not self._out[0]:
                self._out.pop(0)

    def receive(self) -> tuple[int, np.ndarray, np.ndarray] | None:
        while True:
            target = memoryview(self._header if self._body is None else self._body)
            if self._got < len(target):
                try:
                    count = self._peer.recv_into(target[self._got :])
                except BlockingIOError:
                    return None
                if count == 0:
                    return None
                self._got += count
                continue
            if self._body is None:
                rows = int.from_bytes(self._header[8:], "little")
                self._body, self._got = bytearray(16 * rows), 0
                continue
            stage = int.from_bytes(self._header[:8], "little")
            columns = np.frombuffer(self._body, np.int64).reshape(2, -1)
            self._body, self._got = None, 0
            return stage, columns[0], columns[1]

    def wait(self) -> None:
        select.select([self._peer], [self._peer] if self._out else [], [], 0.01)


class Worker:
    def __init__(self, index: int, peer: socket.socket, records: int) -> None:
        self._index = index
        self._exchange = Exchange(peer)
        self._next = index * (records // PROCESSES)
        self._end = self._next + records // PROCESSES
        self._tables = [np.zeros((1 << 17, 4), np.int64) for _ in range(STAGES)]
        self._keys = np.empty((STAGES, PROCESSES, 2 * BATCH), np.int64)
        self._values = np.empty_like(self._keys)
        self._fill = np.zeros((STAGES, PROCESSES), np.int64)
        self._ended = np.zeros((STAGES, PROCESSES), bool)
        self.total = 0
        self.rows = 0

    def run(self) -> None:
        keys, values = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)
        while not self._ended[STAGES - 1].all():
            self._exchange.flush()
            received = self._exchange.receive()
            if received is not None:
                stage, its_keys, its_values = received
                if len(its_keys):
                    self._stage(stage, its_keys, its_values)
                else:
                    self._end_of(stage, 1 - self._index)
            elif self._next < self._end and not self._exchange.sending:
                rows = min(BATCH, self._end - self._next)
                _generate(self._next, keys[:rows], values[:rows])
                self._next += rows
                self._deal(0, keys[:rows], values[:rows], 1)
                if self._next == self._end:
                    self._finish(0)
            else:
                self._exchange.wait()
        while self._exchange.sending:
            self._exchange.flush()

    def _deal(self, stage: int, keys: np.ndarray, values: np.ndarray, divisor: int) -> None:
        fill = self._fill[stage]
        _partition(keys, values, BATCH, divisor, self._keys[stage], self._values[stage], fill)
        for target in range(PROCESSES):
            if fill[target] >= BATCH:
                self._pass_on(stage, target)

    def _pass_on(self, stage: int, target: int) -> None:
        rows = int(self._fill[stage, target])
        self._fill[stage, target] = 0
        keys, values = self._keys[stage, target], self._values[stage, target]
        if target == self._index:
            self._stage(stage, keys[:rows].copy(), values[:rows].copy())
        else:
            self._exchange.send(stage, rows, keys, values)

    def _stage(self, stage: int, keys: np.ndarray, values: np.ndarray) -> None:
        out = np.empty(len(keys), np.int64)
        _update(self._tables[stage], keys, values, stage == 0, out)
        if stage + 1 < STAGES:
            self._deal(stage + 1, keys, out, 10)
        else:
            self.rows += len(out)
            self.total = (self.total + int(out.sum())) & (2**64 - 1)

    def _finish(self, stage: int) -> None:
        for target in range(PROCESSES):
            if self._fill[stage, target]:
                self._pass_on(stage, target)
        self._exchange.send(stage, 0, self._keys[stage, 0], self._values[stage, 0])
        self._end_of(stage, self._index)

    def _end_of(self, stage: int, source: int) -> None:
        self._ended[stage, source] = True
        if self._ended[stage].all() and stage + 1 < STAGES:
            self._finish(stage + 1)


def _warm() -> None:
    """Compile or load every kernel before the measurement."""
    keys, values = np.empty(8, np.int64), np.empty(8, np.int64)
    _generate(0, keys, values)
    _partition(keys, values, BATCH, 1, np.empty((2, 16), np.int64), np.empty((2, 16), np.int64), np.zeros(2, np.int64))
    _update(np.zeros((16, 4), np.int64), keys, values, True, np.empty(8, np.int64))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=200_000_000)
    records = parser.parse_args().records
    _warm()
    mine, theirs = socket.socketpair()
    report_read, report_write = os.pipe()
    began = time.monotonic()
    child = os.fork()
    worker = Worker(1 if child == 0 else 0, theirs if child == 0 else mine, records)
    worker.run()
    if child == 0:
        os.write(report_write, json.dumps([worker.rows, worker.total]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    seconds = time.monotonic() - began
    rows, total = json.loads(os.read(report_read, 4096))
    rows, total = rows + worker.rows, (total + worker.total) & (2**64 - 1)
    json.dump({"records": rows, "seconds": seconds, "records_per_s": rows / seconds, "total": total}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
