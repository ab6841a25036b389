"""The platform under test, with users, rules, a webhook and a job that counts orders."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import polars as pl
import psutil
from tests.integration.platform.api import Api
from tests.integration.platform.embedded_rig import Platform, until

CODE = Path(__file__).with_name("orders_job.py")
NAME = "orders"
INTERVAL = "3s"
RETAINED = 60
"""The job retains the checkpoints of several minutes, so that even on a busy machine, the target of a rollback does not expire
before the rollback."""
CHECKPOINTS_MIN = 6
"""Tests wait until the job has this many checkpoints, so that a rollback is possible."""
WAIT_S = 300.0
"""Timeout for a job or the API to reach the expected state. The timeout is long, because CI machines are slow."""


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    password: str
    role: str
    rollback: bool = False


OLGA = Account("olga", "wooden-sluice-gate-4", "operator", rollback=True)
OTTO = Account("otto", "gravel-bar-by-the-mill-2", "operator")
VERA = Account("vera", "quiet-backwater-heron-9", "viewer")


class Rig:
    """The platform, its API and the job. ``root`` is the directory of the job's files."""

    def __init__(self, platform: Platform, root: Path) -> None:
        self.platform = platform
        self.admin = Account("admin", platform.secrets.admin_password, "admin", rollback=True)
        self.api = Api(self.url, self.admin.name, self.admin.password)
        self.output = root / "output"
        self._closed = root / "closed"

    @property
    def url(self) -> str:
        return self.platform.state.url

    def create_resources(self) -> None:
        """Create users and data for every page."""
        for one in (OLGA, OTTO, VERA):
            user = {"name": one.name, "role": one.role, "rollback": one.rollback, "password": one.password}
            self.api.send("POST", "/users", json=user)
        self.api.send(
            "POST", "/secrets", json={"name": "orders", "value": "a value", "description": "Password of the user orders"}
        )
        hook = self.api.send("POST", "/webhooks", json={"name": "on-call", "url": "https://hooks.example.com/weir"})
        condition = {"kind": "restarts", "count": 1, "minutes": 60}
        self.api.send("POST", "/alert-rules", json={"name": "any restart", "condition": condition, "webhook_id": hook["id"]})
        token = {"name": "deployments from CI", "role": "operator", "rollback": False, "expires_in_days": 90}
        self.api.send("POST", "/tokens", json=token)

    # ---- the job -------------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, str]:
        return {"output": str(self.output), "closed": str(self._closed)}

    def find(self) -> dict[str, Any] | None:
        return next((job for job in self.api.send("GET", "/jobs") if job["name"] == NAME), None)

    def ensure_job(self) -> int:
        """Deploy the job if needed, wait until it has checkpoints, and return its id."""
        job = self.find() or self._deploy()
        return int(self.wait_until_running(job["id"])["id"])

    def wait_until_running(self, job_id: int) -> dict[str, Any]:
        def ready(job: dict[str, Any]) -> bool:
            assert job["health"] != "needs_attention", job
            return running(job) and newest(job) >= CHECKPOINTS_MIN

        return self.api.wait(job_id, ready, timeout_s=WAIT_S)

    def _deploy(self) -> dict[str, Any]:
        created: dict[str, Any] = self.api.send("POST", "/jobs", json={"name": NAME, "spec": self._spec()})
        return created

    def _spec(self) -> dict[str, Any]:
        return {
            "artifact": self.api.upload(CODE.name, CODE.read_bytes()),
            "parameters": self.parameters,
            "checkpointing": {"interval": INTERVAL, "retained": RETAINED},
        }

    def add_versions(self) -> None:
        """Add version 2, which does not compile, and version 3, which compiles. The running job keeps its version 1."""
        job = self.find()
        assert job is not None
        if len(self.api.send("GET", f"/jobs/{job['id']}/specs")) > 1:
            return
        broken = CODE.read_bytes().replace(b"sources.generator(", b"sources.generators(")
        changes: tuple[dict[str, Any], ...] = (
            {"artifact": self.api.upload(CODE.name, broken)},
            {"parameters": {**self.parameters, "rate": 200}, "checkpointing": {"interval": "10s", "retained": RETAINED}},
        )
        for change in changes:
            created = {"spec": self._spec() | change, "comment": "experiment"}
            self.api.send("POST", f"/jobs/{job['id']}/specs", json=created, headers={"If-Match": "*"})

    def delete_job(self) -> None:
        """Cancel and delete the job and its output."""
        job = self.find()
        if job is None:
            return
        if job["desired_state"] == "RUNNING":
            self.api.send("POST", f"/jobs/{job['id']}/cancel")
            self.api.wait(job["id"], lambda now: now["state"] == "CANCELED" and now["operation"] is None)
        self.api.send("DELETE", f"/jobs/{job['id']}", headers={"If-Match": "*"})
        # Delete the output, because a new job with the same name uses the same directory.
        shutil.rmtree(self.output, ignore_errors=True)

    def count_output(self) -> int:
        """Return the number of orders in the output. Fails if the orders of a customer are not numbered 1, 2, 3, ..."""
        rows = pl.read_parquet(sorted(self.output.glob("*/*.parquet")), columns=["customer", "orders"])
        of_each = rows.group_by("customer").agg(
            rows=pl.len(), distinct=pl.col("orders").n_unique(), first=pl.col("orders").min(), last=pl.col("orders").max()
        )
        wrong = of_each.filter(
            (pl.col("rows") != pl.col("distinct")) | (pl.col("first") != 1) | (pl.col("last") != pl.col("rows"))
        )
        assert wrong.is_empty(), f"orders are lost or duplicated: {wrong.row(0, named=True)}"
        return rows.height

    # ---- failures ------------------------------------------------------------------------------

    @contextmanager
    def prices_unavailable(self) -> Iterator[None]:
        """Make the price service unavailable until the ``with`` block ends."""
        self._closed.touch()
        try:
            yield
        finally:
            self.open()

    def open(self) -> None:
        self._closed.unlink(missing_ok=True)

    @contextmanager
    def api_killed(self) -> Iterator[None]:
        """Kill the API process. The supervisor is paused until the ``with`` block ends, because a running supervisor would
        restart the API immediately."""
        supervisor = psutil.Process(self.platform.state.supervisor.number)
        supervisor.suspend()
        try:
            os.kill(self.platform.pids["api"], signal.SIGKILL)
            yield
        finally:
            supervisor.resume()

    @contextmanager
    def frozen(self, child: str) -> Iterator[None]:
        """Freeze a child process of the platform, such as "valkey", and its descendants until the ``with`` block ends."""
        process = psutil.Process(self.platform.pids[child])
        processes = [process, *process.children(recursive=True)]
        for one in processes:
            one.suspend()
        try:
            yield
        finally:
            for one in processes:
                one.resume()

    def answers(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/readyz", timeout=5.0).is_success
        except httpx2.TransportError:
            return False

    def wait_for_api(self) -> None:
        until(self.answers, "the API answers again", WAIT_S)


def running(job: dict[str, Any]) -> bool:
    return job["state"] == "RUNNING" and job["operation"] is None


def newest(job: dict[str, Any]) -> int:
    return int((job["last_checkpoint"] or {"number": 0})["number"])
