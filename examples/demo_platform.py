"""The platform of the demo.

The demo changes the platform with the command `weir`, and reads the platform's state with an API client.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from demo_console import say, shell_path
from demo_scenarios import DemoFailed
from weir.cli.client.api import ApiClient
from weir.cli.client.credentials import TOKEN, URL, Endpoint, find_endpoint
from weir.cli.client.schemas import JobRead
from weir_workers.embedded.data_dir import credentials, platform_state
from weir_workers.embedded.data_dir.credentials import ADMINISTRATOR
from weir_workers.embedded.data_dir.layout import DataDir, data_dir
from weir_workers.file_lock import is_held

ROOT = Path(__file__).resolve().parent.parent
WEIR = Path(sys.executable).with_name("weir")
POLL_EVERY_S = 0.1
WAIT_S = 120.0
STOPPED = frozenset({"CREATED", "FINISHED", "FAILED", "CANCELED", "SUSPENDED"})


class DemoPlatform:
    """A running platform, with a logged-in client."""

    def __init__(self, directory: DataDir, client: ApiClient) -> None:
        self.directory = directory.root
        self.secrets_file = directory.secrets
        self.url = client.endpoint.url
        self.client = client
        self._environment = os.environ | {URL: client.endpoint.url, TOKEN: client.endpoint.token}

    def weir(self, *arguments: str) -> None:
        """Print and run a ``weir`` command. Raises DemoFailed if the exit code of the command is not 0."""
        say(f"$ weir {' '.join(map(_short, arguments))}")
        done = subprocess.run([WEIR, *arguments], cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise DemoFailed(f"weir {arguments[0]} failed with exit code {done.returncode}")

    def find(self, name: str) -> JobRead | None:
        return self.client.job_named(name)

    def job(self, name: str) -> JobRead:
        """Raises DemoFailed."""
        found = self.find(name)
        if found is None:
            raise DemoFailed(f"Job '{name}' does not exist any more.")
        return found

    def delete(self, name: str) -> None:
        """Delete the job, after canceling it if necessary. Raises DemoFailed."""
        job = self.find(name)
        if job is None:
            return
        if job["state"] not in STOPPED or job["desired_state"] == "RUNNING":
            self.weir("cancel", name, "--wait")
        self.weir("delete", name, "--yes")

    def restorable(self, job: JobRead) -> list[int]:
        """Return the numbers of the restorable checkpoints, newest first."""
        found = self.client.checkpoints(job["id"], 100)
        return [one["number"] for one in found if one["state"] == "COMPLETED" and one["discarded_at"] is None]

    def driver(self, name: str) -> int | None:
        """Return the process id of the job's driver, or None if no driver is running."""
        run = self.job(name)["run"]
        found = self.client.rows("/runs", limit=1, filter={"id": run["id"]}) if run is not None else []
        return found[0]["pid"] if found else None

    def wait_for_checkpoint(self, name: str) -> None:
        """Wait until the job has completed another checkpoint. Raises DemoFailed."""
        deadline_s = time.monotonic() + WAIT_S
        before = self.restorable(self.job(name))[:1]
        while self.restorable(job := self.job(name))[:1] == before:
            if time.monotonic() > deadline_s:
                raise DemoFailed(f"Job '{name}' completes no checkpoint. It is {job['state']}. {job['health_reason']}")
            time.sleep(POLL_EVERY_S)


@contextmanager
def start_platform() -> Iterator[DemoPlatform]:
    """Raises DemoFailed."""
    directory = data_dir(None, os.environ)
    say("$ weir up")
    if subprocess.run([WEIR, "up"], cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode:
        raise DemoFailed("The platform did not start. Run weir doctor.")
    client = open_client(directory)
    try:
        yield DemoPlatform(directory, client)
    finally:
        client.close()


def stop_platform(live: str) -> None:
    """Suspend the unbounded job and stop the platform. `weir down` alone would leave the job running."""
    directory = data_dir(None, os.environ)
    if is_held(directory.lock):
        client = open_client(directory)
        try:
            platform, job = DemoPlatform(directory, client), client.job_named(live)
            if job is not None and job["desired_state"] == "RUNNING":
                platform.weir("suspend", live, "--wait")
        finally:
            client.close()
    say("$ weir down")
    if subprocess.run([WEIR, "down"], cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode:
        raise DemoFailed("The platform did not stop. Run weir doctor.")


def open_client(directory: DataDir) -> ApiClient:
    """Return a client with the token in ``WEIR_TOKEN``. If ``WEIR_TOKEN`` is not set, log in as the administrator.

    Raises DemoFailed.
    """
    if os.environ.get(TOKEN):
        return ApiClient(find_endpoint(os.environ))
    found, secrets = platform_state.read(directory.state), credentials.load(directory.secrets)
    if found is None or secrets is None:
        raise DemoFailed(f"{directory.root} is incomplete. Run weir doctor.")
    anonymous = ApiClient(Endpoint(found.url))
    try:
        token = anonymous.log_in(ADMINISTRATOR, secrets.admin_password)["token"]
    finally:
        anonymous.close()
    return ApiClient(Endpoint(found.url, token))


class BatchComparison:
    """The comparison of the output with a batch computation of Spark SQL.

    The comparison runs in a background process, because Spark takes some time to start.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def __enter__(self) -> BatchComparison:
        program = [sys.executable, "examples/demo_runtime.py", "--verify", "--directory", str(self._root)]
        say(f"$ python {' '.join(map(_short, program[1:]))}   (in the background)")
        self._process = subprocess.Popen(
            program, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return self

    def finish(self) -> None:
        """Wait for the result of the comparison and print it.

        Raises DemoFailed if the output differs from the batch computation.
        """
        output = self._process.communicate()[0]
        say("the output of the bounded jobs, compared with Spark SQL over the same input:")
        for line in output.splitlines():
            _, _, text = line.partition(" s  ")
            if "EQUAL" in text or "FAILED" in text or text.startswith("    "):
                say(f"  {text.strip()}")
        if self._process.returncode:
            raise DemoFailed("The output of the bounded jobs differs from the batch computation.")

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def _short(argument: str) -> str:
    """Return the argument with its path relative to the current directory if possible, and quoted for a shell."""
    name, equals, path = argument.rpartition("=")
    return f"{name}{equals}{shell_path(Path(path))}" if path.startswith("/") else argument
