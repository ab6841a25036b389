"""If another program uses a port, Weir chooses a different port and does not mistake the other program for its API."""

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
def foreign_server(port: int) -> Iterator[int]:
    """Run a server at this port. The server is not the API, but reports that it is ready. Yields its process id."""
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


def test_the_process_that_listens_at_a_port_is_found() -> None:
    port = free_port()
    assert not is_taken(port)
    with foreign_server(port) as process, subprocess.Popen(["sleep", "60"]) as other:
        assert is_taken(port) and holder(port) == f"process {process}"
        assert listens(process, port) and not listens(process, port + 1)
        assert listens(os.getpid(), port), "a port of a child process counts as a port of its parent"
        assert not listens(other.pid, port)
        other.kill()
    assert not listens(process, port), "the process has ended"


def test_a_foreign_server_that_reports_that_it_is_ready_does_not_count_as_the_api() -> None:
    port = free_port()
    with foreign_server(port) as process, subprocess.Popen(["sleep", "60"]) as other:
        assert api_is_ready(process, port)
        assert not api_is_ready(other.pid, port)
        other.kill()


def prepared_platform(directory: DataDir, port: int) -> Prepared:
    """Return a prepared platform that consists of one process."""

    def start() -> subprocess.Popen[bytes]:
        return spawn(
            [sys.executable, "-c", SERVER, str(port)],
            log=directory.log_of("api"),
            environment=os.environ,
            directory=directory.root,
        )

    service = Service(Child("api", start_s_max=60.0), start, lambda process: api_is_ready(process.pid, port), port=port)
    return Prepared([service], Ports(api=port), f"http://127.0.0.1:{port}", {}, [])


def test_a_platform_whose_port_is_taken_during_the_start_chooses_a_different_port(directory: DataDir) -> None:
    taken_port, previous_states, states = free_port(), [], []

    def prepare(found: DataDir, _: Mapping[str, str], before: PlatformState | None) -> Prepared:
        previous_states.append(before)
        # The first attempt uses the taken port as if it were free.
        return prepared_platform(found, taken_port if before is None else free_port(before.ports.api))

    def on_state(found: PlatformState) -> None:
        states.append(found)
        if found.phase is Phase.UP:
            os.kill(os.getpid(), signal.SIGTERM)

    with foreign_server(taken_port) as process:
        assert Supervisor(directory, {}, on_state, prepare=prepare).run() == STOPPED
    assert len(previous_states) == 2 and previous_states[1] is not None and previous_states[1].ports.api == taken_port
    up = next(one for one in states if one.phase is Phase.UP)
    assert up.ports.api not in (None, taken_port)
    problems = {one.children["api"].problem for one in states if "api" in one.children}
    assert f"ended with exit code 1: port {taken_port} is held by process {process}" in problems
    assert next(one.phase for one in states if one.phase is not Phase.STARTING) is Phase.UP, (
        "the start succeeds before the platform stops"
    )


def test_a_failed_start_keeps_the_external_database_in_the_platform_state(directory: DataDir) -> None:
    before = PlatformState("1", ProcessId(7, "then"), Phase.DOWN, Ports(api=3), external={"postgres": "db.example"})
    platform_state.write(directory.state, before)
    for _ in range(2):
        assert supervise(directory, {"WEIR_REDIS_URL": "redis://:x@cache.example"}) == NOTHING_STARTED
        found = platform_state.read(directory.state)
        assert found is not None and found.phase is Phase.FAILED and "db.example" in found.problem
        assert replace(found, supervisor=before.supervisor, phase=before.phase, problem="", version="1") == before
