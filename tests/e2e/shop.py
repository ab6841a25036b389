"""Where the stories happen: a platform with people, rules and a webhook, and a job that counts orders."""

from __future__ import annotations

import os
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
"""Some minutes: on a busy machine one that was chosen must not be gone before it is gone back to."""
CHECKPOINTS_MIN = 6
"""So that there is something to go back to."""
WAIT_S = 300.0
"""A machine with two cores may have other things to do."""


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    password: str
    role: str
    rollback: bool = False


OLGA = Account("olga", "wooden-sluice-gate-4", "operator", rollback=True)
OTTO = Account("otto", "gravel-bar-by-the-mill-2", "operator")
VERA = Account("vera", "quiet-backwater-heron-9", "viewer")


class Shop:
    """``root``: of the job's files."""

    def __init__(self, platform: Platform, root: Path) -> None:
        self.platform = platform
        self.admin = Account("admin", platform.secrets.admin_password, "admin", rollback=True)
        self.api = Api(self.url, self.admin.name, self.admin.password)
        self.output = root / "output"
        self._closed = root / "closed"

    @property
    def url(self) -> str:
        return self.platform.state.url

    def furnish(self) -> None:
        """People, and something for each page to show."""
        for one in (OLGA, OTTO, VERA):
            user = {"name": one.name, "role": one.role, "rollback": one.rollback, "password": one.password}
            self.api.send("POST", "/users", json=user)
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

    def orders(self) -> int:
        """The id of the job, which runs and has a few checkpoints. Whoever comes first deploys it."""
        job = self.find() or self._deploy()
        return int(self.runs_well(job["id"])["id"])

    def runs_well(self, job_id: int) -> dict[str, Any]:
        def well(job: dict[str, Any]) -> bool:
            assert job["health"] != "needs a person", job
            return running(job) and newest(job) >= CHECKPOINTS_MIN

        return self.api.wait(job_id, well, timeout_s=WAIT_S)

    def _deploy(self) -> dict[str, Any]:
        made: dict[str, Any] = self.api.send("POST", "/jobs", json={"name": NAME, "spec": self._spec()})
        return made

    def _spec(self) -> dict[str, Any]:
        return {
            "artifact": self.api.upload(CODE.name, CODE.read_bytes()),
            "parameters": self.parameters,
            "checkpointing": {"interval": INTERVAL, "retained": RETAINED},
        }

    def new_versions(self) -> None:
        """One that does not compile, and one that would run: the second and the third. Nobody upgrades to them. Not waited for."""
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
            made = {"spec": self._spec() | change, "comment": "tried out"}
            self.api.send("POST", f"/jobs/{job['id']}/specs", json=made, headers={"If-Match": "*"})

    def forget_orders(self) -> None:
        """As if nobody had ever deployed it."""
        job = self.find()
        if job is None:
            return
        if job["desired_state"] == "RUNNING":
            self.api.send("POST", f"/jobs/{job['id']}/cancel")
            self.api.wait(job["id"], lambda now: now["state"] == "CANCELED" and now["operation"] is None)
        self.api.send("DELETE", f"/jobs/{job['id']}", headers={"If-Match": "*"})
        # What it has written belongs to it, and to no other of its name.
        for part in self.output.rglob("*"):
            if part.is_file():
                part.unlink()

    def counted(self) -> int:
        """Orders that a reader of the output sees. Fails if they are not, of each customer, the first, the second, the third, ..."""
        rows = pl.read_parquet(sorted(self.output.glob("*.parquet")), columns=["customer", "orders"])
        of_each = rows.group_by("customer").agg(
            rows=pl.len(), distinct=pl.col("orders").n_unique(), first=pl.col("orders").min(), last=pl.col("orders").max()
        )
        odd = of_each.filter((pl.col("rows") != pl.col("distinct")) | (pl.col("first") != 1) | (pl.col("last") != pl.col("rows")))
        assert odd.is_empty(), f"orders are lost or doubled: {odd.row(0, named=True)}"
        return rows.height

    # ---- what goes wrong -----------------------------------------------------------------------

    @contextmanager
    def no_prices(self) -> Iterator[None]:
        """Meanwhile the price service does not answer."""
        self._closed.touch()
        try:
            yield
        finally:
            self.open()

    def open(self) -> None:
        self._closed.unlink(missing_ok=True)

    @contextmanager
    def api_away(self) -> Iterator[None]:
        """The process of the API is dead meanwhile: its supervisor, who would start it again at once, is held still."""
        supervisor = psutil.Process(self.platform.state.supervisor.number)
        supervisor.suspend()
        try:
            os.kill(self.platform.pids["api"], signal.SIGKILL)
            yield
        finally:
            supervisor.resume()

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
