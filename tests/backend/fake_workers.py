"""Fake workers and drivers. The fakes run in the process of the test, and call the same services as real workers and drivers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import select, update
from tests.backend.conftest import RecordedTasks
from tests.backend.jobs import body_of, numbered

from weir.protocol.events import (
    CheckpointCompleted,
    CheckpointTriggered,
    CommandAnswered,
    CommandOutcome,
    DriverState,
    Event,
    RunStateChanged,
)
from weir.protocol.ids import CheckpointId, CommandId, Generation
from weir_backend.job_manifests import service as job_manifests
from weir_backend.jobs import repository as jobs
from weir_backend.jobs import service
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.heartbeats import Component, record_heartbeat
from weir_backend.kit.tasks import INSPECT_SPEC
from weir_backend.models import Checkpoint, CheckpointPin, Heartbeat, Job, PinHolder, SpecCheck, SpecState
from weir_backend.reconciler.service import Reconciler, mark_driver_lost
from weir_backend.recovery.schemas import PlanInspection
from weir_backend.recovery.service import record_inspection
from weir_backend.runs import repository
from weir_backend.runs.graph import graph_content
from weir_backend.runs.service import run_token
from weir_backend.settings import Settings

CODE = b"def job(params): ...\n"
GRAPH = {
    "logical": {
        "job": "orders",
        "operators": [
            {"uid": "in", "kind": "source", "config": {"kind": "generator"}, "inputs": []},
            {"uid": "out", "kind": "sink", "config": {"kind": "parquet"}, "inputs": []},
            {"uid": "shown", "kind": "sink", "config": {"kind": "console"}, "inputs": []},
        ],
    }
}
INTACT = PlanInspection(intact=True, damage=None, files=1, bytes=9, abandoned=[], reinstated=[], sources=[], sinks=[], notes=[])


@dataclass
class Platform:
    """Sends requests to the API, and does the work of workers."""

    client: TestClient
    database: Database
    settings: Settings
    tasks: RecordedTasks
    headers: dict[str, str]
    """The headers of all requests, including the token."""
    pins_immediately: bool = True
    """Whether ``reconcile`` writes the pins of safety savepoints, as a worker does."""

    def send(self, method: str, path: str, *, status: int, **more: Any) -> Any:
        answer = self.client.request(method, f"/api/v1{path}", headers={**self.headers, **more.pop("headers", {})}, **more)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def upload(self, code: bytes = CODE) -> str:
        answer = self.client.post("/api/v1/artifacts", params={"name": "job.py"}, content=code, headers=self.headers)
        assert answer.status_code in (200, 201), answer.text
        digest: str = answer.json()["digest"]
        assert digest == hashlib.sha256(code).hexdigest()
        return digest

    def deploy(self, name: str = "orders", spec: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        made: dict[str, Any] = self.send(
            "POST", "/jobs", status=201, json={"name": name, "spec": {"artifact": self.upload(), **(spec or {})}, **more}
        )
        return made

    def compile(self, job_id: int, number: int = 1, *, problem: str | None = None, name: str = "orders") -> None:
        """Store the result of compiling a spec, as a worker does. ``name`` is the name of the job in its code."""
        graph = {"logical": {**GRAPH["logical"], "job": name}}
        with self.database.session() as session:
            spec = jobs.find_spec(session, job_id, number)
            assert spec is not None
            graph_id = repository.store_graph(session, graph_content(graph)) if problem is None else None
            service.compiled(session, self.tasks, spec, graph_id=graph_id, problem=problem)
        self.reconcile(job_id)

    def check_specs(self, *, problem: str | None = None, name: str = "orders", found: PlanInspection = INTACT) -> None:
        """Store the results of all checks of specs, as workers do. ``name`` is the name of the job in its code."""
        graph = {"logical": {**GRAPH["logical"], "job": name}}
        with self.database.session() as session:
            ids = session.scalars(select(SpecCheck.id).where(SpecCheck.state == SpecState.COMPILING)).all()
        for check_id in ids:
            with self.database.session() as session:
                graph_id = repository.store_graph(session, graph_content(graph)) if problem is None else None
                job_manifests.record_compilation(session, self.tasks, check_id, graph_id=graph_id, problem=problem)
            if (INSPECT_SPEC, (check_id,)) in self.tasks.enqueued:
                with self.database.session() as session:
                    job_manifests.record_inspection(session, check_id, found)

    def reconcile(self, job_id: int) -> None:
        with self.database.session() as session:
            Reconciler(self.settings, self.tasks).reconcile(session, job_id)
        if self.write_undo_pins():
            self.reconcile(job_id)

    def write_undo_pins(self) -> bool:
        """Write the pins of checkpoints that an undo restores, as a worker does. Return whether a pin was written."""
        if not self.pins_immediately:
            return False
        with self.database.session() as session:
            of_undo = select(CheckpointPin.checkpoint_id).where(CheckpointPin.holder == PinHolder.UNDO)
            conditions = (Checkpoint.id.in_(of_undo), Checkpoint.pinned, ~Checkpoint.pin_in_force)
            result: Any = session.execute(update(Checkpoint).where(*conditions).values(pin_in_force=True))
            return bool(result.rowcount)

    def inspect(self, plan_id: int, found: PlanInspection = INTACT) -> None:
        self.pin()
        with self.database.session() as session:
            waiting = record_inspection(session, self.settings, plan_id, found)
        if waiting is not None:
            self.reconcile(waiting)

    def approve(self, plan_id: int, *, status: int = 200) -> Any:
        """Approve the plan as it is now."""
        digest = self.send("GET", f"/plans/{plan_id}", status=200)["digest"]
        return self.send("POST", f"/plans/{plan_id}/approve", status=status, json={"digest": digest})

    def pin(self) -> None:
        """Write the pins to the job logs, as a worker does."""
        with self.database.session() as session:
            session.execute(update(Checkpoint).values(pin_in_force=Checkpoint.pinned))

    def record_heartbeats(self, since: timedelta = timedelta(hours=1)) -> None:
        """Record heartbeats of all components of the control plane, as if all components had started ``since`` ago."""
        moment = now()
        with self.database.session() as session:
            for component in Component:
                record_heartbeat(session, component, moment)
            session.execute(update(Heartbeat).where(Heartbeat.component.in_([*Component])).values(since=moment - since))

    def job(self, job_id: int) -> dict[str, Any]:
        found: dict[str, Any] = self.send("GET", f"/jobs/{job_id}", status=200)
        return found

    def operation(self, operation_id: int) -> dict[str, Any]:
        found: dict[str, Any] = self.send("GET", f"/operations/{operation_id}", status=200)
        return found

    def driver(self, job_id: int) -> Driver:
        """Return the driver of the live run."""
        with self.database.session() as session:
            run = repository.live_run(session, job_id)
            assert run is not None, f"job {job_id} has no live run"
            return Driver(self, job_id, run.id, run_token(self.settings, run.directory), dict(run.start), run.cause)

    def running(self, name: str = "orders", **spec: Any) -> tuple[int, Driver]:
        """Deploy and start a job, and complete its checkpoint 1. Return the id and the driver of the job."""
        job_id = self.deploy(name, spec)["id"]
        self.compile(job_id)
        driver = self.driver(job_id)
        driver.begin()
        driver.checkpoint(1)
        return job_id, driver


def end_restart_delay(platform: Platform, job_id: int) -> None:
    """End the restart delay of the job, and reconcile the job."""
    with platform.database.session() as session:
        session.execute(update(Job).where(Job.id == job_id).values(restart_at=now()))
    platform.reconcile(job_id)


@dataclass
class Driver:
    """A fake driver of one run."""

    platform: Platform
    job_id: int
    run_id: int
    token: str
    start: dict[str, Any]
    cause: str
    sent: int = 0
    answered: set[int] = field(default_factory=set)

    def send_events(self, *events: Event) -> int:
        """Send events to the API. Return the status of the response."""
        batch = numbered(events, self.sent + 1)
        answer = self.platform.client.post(
            f"/api/v1/runs/{self.run_id}/events",
            params={"first": self.sent + 1, "oldest": self.sent + 1},
            content=body_of(batch),
            headers={"Authorization": f"Bearer {self.token}"},
        )
        if answer.status_code == 200:
            self.sent += len(events)
            self.platform.reconcile(self.job_id)
        return answer.status_code

    def begin(self) -> None:
        self.report_state(DriverState.INITIALIZING)
        self.report_state(DriverState.RUNNING)

    def report_state(self, state: DriverState, reason: str = "", kind: str = "") -> None:
        assert self.send_events(RunStateChanged(state, Generation(1), reason, kind)) == 200

    def checkpoint(self, number: int, trigger: str = "periodic") -> None:
        first = CheckpointTriggered(CheckpointId(number), Generation(1), trigger, 0)
        assert self.send_events(first, CheckpointCompleted(CheckpointId(number), Generation(1), trigger, 5, 9, ())) == 200

    def commands(self) -> list[str]:
        """Return the kinds of the unanswered commands, and answer them."""
        answer = self.platform.client.get(
            f"/api/v1/runs/{self.run_id}/commands", params={"after": 0}, headers={"Authorization": f"Bearer {self.token}"}
        )
        assert answer.status_code == 200, answer.text
        fresh = [(number, kind) for number, kind, _ in answer.json() if number not in self.answered]
        for number, _ in fresh:
            self.answered.add(number)
            assert self.send_events(CommandAnswered(CommandId(number), CommandOutcome.ACCEPTED)) == 200
        return [kind for _, kind in fresh]

    def crash(self, reason: str = "killed") -> None:
        """Report that the driver process has exited, as a worker does, and reconcile the job."""
        with self.platform.database.session() as session:
            assert mark_driver_lost(session, self.job_id, self.run_id, reason)
        self.platform.reconcile(self.job_id)
