"""The platform as the demo uses it: the command `weir` for what a person would type, its client of the API for looking."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from demo_scenarios import DemoFailed
from demo_telling import say, shown
from weir.cli.remote import place
from weir.cli.remote.client import Client
from weir.cli.remote.place import Place
from weir.cli.remote.shapes import Job
from weir_workers.embedded import credentials, state
from weir_workers.embedded.credentials import ADMINISTRATOR
from weir_workers.embedded.layout import DataDir, data_dir
from weir_workers.embedded.lock import is_held

ROOT = Path(__file__).resolve().parent.parent
WEIR = Path(sys.executable).with_name("weir")
LOOK_EVERY_S = 0.1
WAIT_S = 120.0
REST = frozenset({"CREATED", "FINISHED", "FAILED", "CANCELED", "SUSPENDED"})


class Rig:
    """Logged in."""

    def __init__(self, directory: DataDir, client: Client) -> None:
        self.directory = directory.root
        self.secrets_file = directory.secrets
        self.url = client.place.url
        self.client = client
        self._environment = os.environ | {place.URL: client.place.url, place.TOKEN: client.place.token}

    def weir(self, *arguments: str) -> None:
        """Shown as it would be typed. Raises DemoFailed unless it exits with 0."""
        say(f"$ weir {' '.join(map(_short, arguments))}")
        done = subprocess.run([WEIR, *arguments], cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise DemoFailed(f"weir {arguments[0]} ended with exit code {done.returncode}")

    def find(self, name: str) -> Job | None:
        return self.client.job_named(name)

    def job(self, name: str) -> Job:
        """Raises DemoFailed."""
        found = self.find(name)
        if found is None:
            raise DemoFailed(f"job '{name}' is not there any more: was it deleted meanwhile?")
        return found

    def forget(self, name: str) -> None:
        """Whatever it does now. Raises DemoFailed."""
        job = self.find(name)
        if job is None:
            return
        if job["state"] not in REST or job["desired_state"] == "RUNNING":
            self.weir("cancel", name, "--wait")
        self.weir("delete", name, "--yes")

    def restorable(self, job: Job) -> list[int]:
        """Numbers of the checkpoints that one can go back to, newest first."""
        found = self.client.checkpoints(job["id"], 100)
        return [one["number"] for one in found if one["state"] == "COMPLETED" and one["discarded_at"] is None]

    def driver(self, name: str) -> int | None:
        """Its process, where there is one."""
        run = self.job(name)["run"]
        found = self.client.rows("/runs", limit=1, filter={"id": run["id"]}) if run is not None else []
        return found[0]["pid"] if found else None

    def until_checkpoint(self, name: str) -> None:
        """One more than there is. Raises DemoFailed."""
        deadline_s = time.monotonic() + WAIT_S
        before = self.restorable(self.job(name))[:1]
        while self.restorable(job := self.job(name))[:1] == before:
            if time.monotonic() > deadline_s:
                raise DemoFailed(f"job '{name}' completes no checkpoint: it is {job['state']}. {job['why']}")
            time.sleep(LOOK_EVERY_S)


@contextmanager
def bring_up() -> Iterator[Rig]:
    """Raises DemoFailed."""
    directory = data_dir(None, os.environ)
    say("$ weir up")
    if subprocess.run([WEIR, "up"], cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode:
        raise DemoFailed("the platform did not come up: weir doctor says what is wrong")
    client = _client(directory)
    try:
        yield Rig(directory, client)
    finally:
        client.close()


def bring_down(live: str) -> None:
    """The jobs of the platform go on without it, so the one that never ends is stopped first."""
    directory = data_dir(None, os.environ)
    if is_held(directory.lock):
        client = _client(directory)
        try:
            rig, job = Rig(directory, client), client.job_named(live)
            if job is not None and job["desired_state"] == "RUNNING":
                rig.weir("suspend", live, "--wait")
        finally:
            client.close()
    say("$ weir down")
    if subprocess.run([WEIR, "down"], cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode:
        raise DemoFailed("the platform did not go down: weir doctor says what is wrong")


def _client(directory: DataDir) -> Client:
    """As ``WEIR_TOKEN`` says, else as the administrator with the password that was made for this installation. Raises DemoFailed."""
    if os.environ.get(place.TOKEN):
        return Client(place.find(os.environ))
    found, secrets = state.read(directory.state), credentials.load(directory.secrets)
    if found is None or secrets is None:
        raise DemoFailed(f"what is in {directory.root} is not complete: weir doctor says what is wrong")
    asking = Client(Place(found.url))
    try:
        token = asking.log_in(ADMINISTRATOR, secrets.admin_password)["token"]
    finally:
        asking.close()
    return Client(Place(found.url, token))


class Verification:
    """Spark SQL over the same input in a process of its own: it takes a while to come up, and other things go on meanwhile."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __enter__(self) -> Verification:
        program = [sys.executable, "examples/demo_runtime.py", "--verify", "--directory", str(self._root)]
        say(f"$ python {' '.join(map(_short, program[1:]))}   (in the background)")
        self._process = subprocess.Popen(
            program, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return self

    def finish(self) -> None:
        """What it has found. Raises DemoFailed if anything is unequal."""
        told = self._process.communicate()[0]
        say("what the bounded jobs have committed, beside Spark SQL over the same input in one batch:")
        for line in told.splitlines():
            _, _, text = line.partition(" s  ")
            if "EQUAL" in text or "FAILED" in text or text.startswith("    "):
                say(f"  {text.strip()}")
        if self._process.returncode:
            raise DemoFailed("the output of the bounded jobs could not be proved equal")

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def _short(argument: str) -> str:
    """As it is typed at the root of the repository."""
    name, equals, path = argument.rpartition("=")
    return f"{name}{equals}{shown(Path(path))}" if path.startswith("/") else argument
