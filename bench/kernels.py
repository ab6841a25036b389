"""Micro-benchmark of the keyed state and the partitioner on one core, with batches of 65,536 records and sparse int64 keys.

For each number of keys, the benchmark prints the throughput of a count and a sum, in millions of records per second. The
benchmark measures the throughput with running results, with results per batch, and during continuous snapshots. For the
snapshots, the benchmark prints the median and maximum duration of ``freeze`` and of a copy step. The benchmark also prints the
duration of the longest batch, and the median duration of ``write``. All times are CPU time of the thread, including page faults.
Other load on the machine therefore affects the results only through the caches.

Usage: ``python bench/kernels.py [--keys 100000,1000000] [--rounds 3]``
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from weir.graph.logical import Partitioning
from weir.operators.kernel_warmup import warm_up_kernels
from weir.operators.partitioners import make_partitioner
from weir.protocol.ids import CheckpointId, OperatorUid
from weir.protocol.snapshots import StateFile
from weir.state.backend import AggregateFunction, AggregateSpec, Emit
from weir.state.columnar_backend import ColumnarAggregates

ROWS = 65_536
SPECS = (AggregateSpec("count", AggregateFunction.COUNT), AggregateSpec("sum", AggregateFunction.SUM, "value"))


class DiscardingStorage:
    def put(self, operator: OperatorUid, data: Sequence[Any], *, rows: int, key_groups: tuple[int, int] | None) -> StateFile:
        return StateFile("discarded", sum(len(piece) for piece in data), "", rows, key_groups)


def table(schema: pa.Schema, key: str, emit: Emit) -> ColumnarAggregates:
    return ColumnarAggregates(
        (key,), SPECS, schema, emit, uid=OperatorUid("bench"), subtask=0, key_groups=(0, 127), max_parallelism=128
    )  # fmt: skip


def millions_a_second(step: Callable[[pa.RecordBatch], object], batches: list[pa.RecordBatch], rounds: int) -> float:
    rates = []
    for _ in range(rounds):
        begin = time.thread_time()
        for batch in batches:
            step(batch)
        rates.append(len(batches) * ROWS / (time.thread_time() - begin) / 1e6)
    return statistics.median(rates)


def fill(state: ColumnarAggregates, keys: np.ndarray[Any, Any], name: str) -> float:
    """Insert all keys once, in order. Return the duration of the longest batch in milliseconds, including growth of the index."""
    longest = 0.0
    for begin in range(0, len(keys), ROWS):
        piece = keys[begin : begin + ROWS]
        batch = pa.record_batch({name: piece, "value": np.ones(len(piece), np.int64)})
        start = time.thread_time()
        state.update(batch)
        longest = max(longest, time.thread_time() - start)
    return 1e3 * longest


def measure(keys: int, rounds: int) -> None:
    random = np.random.default_rng(7)
    pool = random.integers(-(2**62), 2**62, keys)
    batches = [
        pa.record_batch({"key": pool[random.integers(0, keys, ROWS)], "value": random.integers(0, 1000, ROWS)}) for _ in range(48)
    ]
    for emit in Emit:
        state = table(batches[0].schema, "key", emit)
        longest_fill = fill(state, pool, "key")
        for batch in batches[:8]:
            state.update(batch)
        plain = millions_a_second(state.update, batches, rounds)
        print(
            f"{keys:>10,} keys  {emit:<5}  plain {plain:6.1f} M/s   longest batch during insertion {longest_fill:5.1f} ms",
            flush=True,
        )
        snapshots(state, batches)


def snapshots(state: ColumnarAggregates, batches: list[pa.RecordBatch]) -> None:
    """Take one snapshot after another, with one copy step after every batch."""
    freezes: list[float] = []
    steps: list[float] = []
    updates: list[float] = []
    writes: list[float] = []
    total = 0.0
    for turn in range(6):
        begin = time.thread_time()
        snapshot = state.freeze(CheckpointId(turn))
        freezes.append(time.thread_time() - begin)
        complete = False
        while not complete:
            batch = batches[len(steps) % len(batches)]
            start = time.thread_time()
            state.update(batch)
            middle = time.thread_time()
            complete = snapshot.advance()
            end = time.thread_time()
            updates.append(middle - start)
            steps.append(end - middle)
            total += end - start
        begin = time.thread_time()
        snapshot.write(DiscardingStorage())
        writes.append(time.thread_time() - begin)
    print(
        f"{'':>23} copying   {len(updates) * ROWS / total / 1e6:6.1f} M/s   freeze {1e6 * statistics.median(freezes):.0f} us "
        f"(max {1e6 * max(freezes):.0f})   step {1e3 * statistics.median(steps):.2f} ms (max {1e3 * max(steps):.2f})   "
        f"batch max {1e3 * max(updates):.1f} ms   write {1e3 * statistics.median(writes):.0f} ms",
        flush=True,
    )


def words(rounds: int) -> None:
    """Measure the state with Zipf-distributed words, as in the wordcount workload."""
    random = np.random.default_rng(7)
    vocabulary = np.array([f"w{n:x}" * (1 + n % 3) for n in range(50_000)])
    batches = []
    for _ in range(24):
        drawn = np.minimum(random.zipf(1.2, ROWS), len(vocabulary)) - 1
        batches.append(pa.record_batch({"word": pa.array(vocabulary[drawn].tolist()), "value": np.ones(ROWS, np.int64)}))
    for emit in Emit:
        state = table(batches[0].schema, "word", emit)
        for batch in batches:
            state.update(batch)
        print(f"     words        {emit:<5}  plain {millions_a_second(state.update, batches, rounds):6.1f} M/s", flush=True)
    partitioners(batches, "word", rounds)


def partitioners(batches: list[pa.RecordBatch], key: str, rounds: int) -> None:
    for partitioning, name in ((Partitioning.HASH, f"partition by {key}"), (Partitioning.REBALANCE, "rebalance")):
        for targets in (2, 4, 16):
            sender = make_partitioner(partitioning, batches[0].schema, (key,), targets, 128, 0, ROWS)
            for batch in batches[:4]:
                sender.add(batch)
            print(
                f"     {name:<18} to {targets:>2} targets {millions_a_second(sender.add, batches, rounds):6.1f} M/s", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", default="100000,1000000,10000000", help="comma-separated numbers of keys")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    begin = time.thread_time()
    warm_up_kernels()
    print(f"kernels compiled or loaded in {time.thread_time() - begin:.1f} s")
    random = np.random.default_rng(7)
    numbers = [
        pa.record_batch({"key": random.integers(-(2**62), 2**62, ROWS), "value": random.integers(0, 9, ROWS)}) for _ in range(48)
    ]
    partitioners(numbers, "key", arguments.rounds)
    words(arguments.rounds)
    for keys in arguments.keys.split(","):
        measure(int(keys), arguments.rounds)


if __name__ == "__main__":
    main()
