"""Unauthenticated clients connect to every port of a running job."""

from __future__ import annotations

import os
import random
import socket
import struct
from pathlib import Path

import psutil
import pytest
from process_tree import argument_lists, listening, process_tree

from weir import Job, agg, sinks, sources
from weir.coordinator.progress import ProgressSnapshot
from weir.kernel.effects import JobOutcome
from weir.kernel.job import JobPhase
from weir.protocol.frames import MAGIC
from weir.spark.launch import RunningJob, RunOptions, launch

pytestmark = pytest.mark.spark

ROWS = 800_000


def make_job(out: Path) -> Job:
    job = Job("unauthenticated")
    numbers = job.read(
        sources.generator({"key": sources.uniform_ints(distinct=500)}, rows=ROWS, splits=2, rate=80_000), uid="numbers"
    )
    numbers.key_by("key").aggregate(n=agg.count(), emit="each", uid="count").write(sinks.stats(), uid="out")
    return job


def wait_until_running(job: RunningJob) -> ProgressSnapshot:
    while (result := job.wait(0.1)) is None:
        now = job.progress()
        if now.phase is JobPhase.RUNNING and now.records > 0:
            return now
    pytest.fail(f"the job ended before the clients connected: {result}")


def unauthenticated_response(port: int, rng: random.Random) -> bytes:
    """Send an unauthenticated message and return the response."""
    messages = [
        rng.randbytes(rng.randrange(1, 4_096)),
        struct.pack("<I", 20) + b'["Register",{}]     ',
        struct.pack("<I", MAGIC) + rng.randbytes(60),
        struct.pack("<I", 0xFFFFFFFF) * 64,
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"",
    ]
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.settimeout(0.3)
        try:
            connection.sendall(rng.choice(messages))
            return connection.recv(4_096)
        except OSError:
            return b""


def test_unauthenticated_clients_have_no_effect_and_receive_no_secret(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    job = launch(make_job(tmp_path), RunOptions(checkpoint_dir=str(tmp_path / "checkpoints"), parallelism=2, interval_ms=500))
    wait_until_running(job)
    processes = process_tree(os.getpid())
    ports = sorted({port for _, port in listening(processes)})
    slots = [process for process in processes if process.is_running() and "weir.spark.daemon" in " ".join(_arguments(process))]
    assert len(ports) >= 3 and slots, "the coordinator and each slot have at least one port"
    for address, _ in listening(processes):
        assert address in ("127.0.0.1", "::1", "::ffff:127.0.0.1"), f"a port listens on {address}"
    for port in ports * 3:
        response = unauthenticated_response(port, rng)
        assert b"generation" not in response and b"unauthenticated" not in response
    secrets = [job._coordinator._server._acceptor._credentials.secret.hex()]
    listed = argument_lists(processes)
    assert not any(secret in listed for secret in secrets)
    result = job.wait(300)
    assert result is not None and result.outcome is JobOutcome.FINISHED, result
    assert result.progress.recoveries == (), "no client caused a recovery"
    assert result.results["out"].rows == ROWS  # type: ignore[index, attr-defined]  # Totals of the stats sink


def _arguments(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
