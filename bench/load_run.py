"""Measures runs of abs6 at given rates, for bench/load.py, which starts this module as a separate process.

The process reads one request per line from its standard input, as JSON, and writes one result per line to its standard output.
It imports Weir and the workload from the source tree that it gets as its argument, which can be the tree of an earlier commit.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import fields
from importlib import import_module
from logging import ERROR
from pathlib import Path
from typing import Any

PACED_MS = 5.0
"""The time between two batches of a source with a rate, without a buffer timeout."""
BUCKETS_PER_OCTAVE = 16
"""The sink counts records per bucket. The upper bound of bucket b is 2 ** (b / 16) microseconds."""
IDLE_RATE = 1e-3
"""A rate of 0 means a job that waits for records. Its source has this rate, so it emits no record during a measurement."""


def serve(tree: Path, slots: int, directory: Path) -> None:
    """Answer the requests of bench/load.py until the standard input ends."""
    import structlog

    from bench.abs6 import Abs6
    from weir.spark.launch import RunOptions, session_for

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(ERROR))
    answers = sys.stdout
    session = session_for(RunOptions(checkpoint_dir=str(directory), parallelism=slots), f"bench load {tree.name}")
    try:
        with redirect_stdout(sys.stderr):
            print(json.dumps({"started": True}), file=answers, flush=True)
            for line in sys.stdin:
                request = json.loads(line)
                rate = request["rate"]
                workload = Abs6(7, rate=rate or (None if rate is None else IDLE_RATE), timed=rate is not None)
                answer = _measure(workload, request, slots, session, directory)
                print(json.dumps(answer), file=answers, flush=True)
    finally:
        session.close()


def _measure(workload: Any, request: Mapping[str, Any], slots: int, session: Any, directory: Path) -> dict[str, Any]:
    options: dict[str, Any] = {
        "parallelism": slots,
        "interval_ms": 1_000,
        "seconds": request["seconds"],
        "warm_up_s": request["warm_up_s"],
    }
    try:
        measured_run: Any = import_module("bench.measured_run")
        settings = measured_run.RunSettings
    except ImportError:  # a commit before this module was renamed
        measured_run = import_module("bench.measuring")
        settings = measured_run.Setting
    known = {one.name for one in fields(settings)}
    newer = {"poll_s": 0.5, "buffer_timeout_ms": request["buffer_timeout_ms"], "idle": request["rate"] == 0}
    options |= {name: value for name, value in newer.items() if name in known}
    has_buffers = "buffer_timeout_ms" in known
    interval_ms = source_interval_ms(workload, slots, request["buffer_timeout_ms"]) if has_buffers else PACED_MS
    run = measured_run.measure(workload, settings(**options), session, directory)
    cores = (run.cpu.slots + run.cpu.driver) / run.watched_s
    return {
        "cores": round(cores, 3),
        "slot_cores": round(run.cpu.slots / run.watched_s, 3),
        "records_per_s": round(run.records / run.seconds) if run.records else 0,
        **latency(run.totals, interval_ms),
        "checkpoints": len(run.checkpoints),
        "checkpoint_ms_avg": round(sum(one.end_to_end_ms for one in run.checkpoints) / max(1, len(run.checkpoints)), 1),
        "alignment_ms_max": max((one.alignment_ms_max for one in run.checkpoints), default=None),
        "wrong": run.wrong,
    }


def source_interval_ms(workload: Any, slots: int, buffer_timeout_ms: float | None) -> float:
    """Return the time between two batches of a source with a rate."""
    from weir.connectors.generated.generator_source import batch_interval_ns
    from weir.graph.compile import compile_graph
    from weir.subtask.channels import buffer_ns_of

    buffer_ns = buffer_ns_of(compile_graph(workload.job().to_graph()[0], slots=slots), buffer_timeout_ms)
    return (batch_interval_ns(workload.rate / slots, buffer_ns) if workload.rate and buffer_ns else 0) / 1e6 or PACED_MS


def latency(totals: Any, interval_ms: float) -> dict[str, float | None]:
    """Return the latency since the emission, and the latency since the creation of a record."""
    return {
        "source_interval_ms": interval_ms,
        "emission_p50_ms": totals.latency_ms(0.5),
        "emission_p99_ms": totals.latency_ms(0.99),
        "p50_ms": creation_latency_ms(totals.latency, interval_ms, 0.5),
        "p99_ms": creation_latency_ms(totals.latency, interval_ms, 0.99),
    }


def creation_latency_ms(latency: Mapping[str, int], interval_ms: float, quantile: float) -> float | None:
    """Return the quantile of the time from the creation of a record to its arrival, or None if there are no records.

    The records of a batch are created at a constant rate in the interval before the emission, and have the same latency since the
    emission. So the time before the emission has a uniform distribution that does not depend on the time after it.
    """
    rows = sum(latency.values())
    if not rows:
        return None
    after_ms = {2 ** (int(bucket) / BUCKETS_PER_OCTAVE) / 1000: count for bucket, count in latency.items()}
    low, high = 0.0, interval_ms + max(after_ms)
    while high - low > 0.01:
        middle = (low + high) / 2
        arrived = sum(count * min(1.0, max(0.0, (middle - emitted) / interval_ms)) for emitted, count in after_ms.items())
        low, high = (middle, high) if arrived < quantile * rows else (low, middle)
    return high


if __name__ == "__main__":
    tree = Path(sys.argv[1])
    sys.path[0] = str(tree)
    serve(tree, int(sys.argv[2]), Path(sys.argv[3]))
