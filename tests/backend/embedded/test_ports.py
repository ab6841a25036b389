"""Ports that other programs use: their answers are not taken for ours, and a starting platform chooses another port."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from weir_workers.embedded.constants import NOTHING_STARTED, STOPPED
from weir_workers.embedded.data_dir import platform_state
from weir_workers.embedded.data_dir.layout import DataDir
from weir_workers.embedded.data_dir.platform_state import Phase, PlatformState, Ports
from weir_workers.embedded.ports import free_port, holder, is_taken, listens
from weir_workers.embedded.processes import ProcessId, spawn
from weir_workers.embedded.supervisor.process import Supervisor, supervise
from weir_workers.embedded.supervisor.services import Service, api_is_ready
from weir_workers.embedded.supervisor.startup import Prepared
from weir_workers.embedded.supervisor.state_machine import Child

SERVER = """
import http.server, sys
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
class Server(http.server.HTTPServer):
    allow_reuse_address = True
server = Server(("127.0.0.1", int(sys.argv[1])), Ready)
print("listening", flush=True)
server.serve_forever()
"""


@contextmanager
def stranger(port: int) -> Iterator[int]:
    """Start a foreign server that reports ready at this port. Returns its process."""
    with subprocess.Popen([sys.executable, "-c", SERVER, str(port)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"listening\n"
        yield process.pid
        process.kill()


@pytest.fixture
def directory() -> Iterator[DataDir]:
    with tempfile.TemporaryDirectory(prefix="weir-ports-") as made:
        Path(made).chmod(0o755)
        found = DataDir(Path(made) / "weir")
        found.make()
        yield found


def test_the_listener_of_a_port_is_found_by_its_process() -> None:
    port = free_port()
    assert not is_taken(port)
    with stranger(port) as process, subprocess.Popen(["sleep", "60"]) as ours:
        assert is_taken(port) and holder(port) == f"process {process}"
        assert listens(process, port) and not listens(process, port + 1)
        assert listens(os.getpid(), port), "children count as the process itself"
        assert not listens(ours.pid, port)
        ours.kill()
    assert not listens(process, port), "it has ended"


def test_a_foreign_server_that_reports_ready_is_not_our_api() -> None:
    port = free_port()
    with stranger(port) as process, subprocess.Popen(["sleep", "60"]) as ours:
        assert api_is_ready(process, port)
        assert not api_is_ready(ours.pid, port)
        ours.kill()


def served_at(directory: DataDir, port: int) -> Prepared:
    """A platform that consists of one process."""

    def start() -> subprocess.Popen[bytes]:
        return spawn(
            [sys.executable, "-c", SERVER, str(port)],
            log=directory.log_of("api"),
            environment=os.environ,
            directory=directory.root,
        )

    service = Service(Child("api", start_s_max=60.0), start, lambda process: api_is_ready(process.pid, port), port=port)
    return Prepared([service], Ports(api=port), f"http://127.0.0.1:{port}", {}, [])


def test_a_platform_whose_port_is_taken_during_the_start_chooses_another(directory: DataDir) -> None:
    wanted, asked, told = free_port(), [], []

    def prepare(found: DataDir, _: Mapping[str, str], before: PlatformState | None) -> Prepared:
        asked.append(before)
        # At the first attempt the port seems free.
        return served_at(found, wanted if before is None else free_port(before.ports.api))

    def tell(found: PlatformState) -> None:
        told.append(found)
        if found.phase is Phase.UP:
            os.kill(os.getpid(), signal.SIGTERM)

    with stranger(wanted) as process:
        assert Supervisor(directory, {}, tell, prepare=prepare).run() == STOPPED
    assert len(asked) == 2 and asked[1] is not None and asked[1].ports.api == wanted
    up = next(one for one in told if one.phase is Phase.UP)
    assert up.ports.api not in (None, wanted)
    problems = {one.children["api"].problem for one in told if "api" in one.children}
    assert f"ended with exit code 1: port {wanted} is held by process {process}" in problems
    assert next(one.phase for one in told if one.phase is not Phase.STARTING) is Phase.UP, "it was never reported as stopping"


def test_a_failed_start_does_not_forget_the_external_database(directory: DataDir) -> None:
    before = PlatformState("1", ProcessId(7, "then"), Phase.DOWN, Ports(api=3), external={"postgres": "db.example"})
    platform_state.write(directory.state, before)
    for _ in range(2):
        assert supervise(directory, {"WEIR_REDIS_URL": "redis://:x@cache.example"}) == NOTHING_STARTED
        found = platform_state.read(directory.state)
        assert found is not None and found.phase is Phase.FAILED and "db.example" in found.problem
        assert replace(found, supervisor=before.supervisor, phase=before.phase, problem="", version="1") == before
