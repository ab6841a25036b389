"""Creates jobs and runs directly in the database, and stores events of drivers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.backend.conftest import RecordedTasks

from weir.protocol.events import (
    AcknowledgedStatistics,
    CheckpointCompleted,
    CheckpointTriggered,
    Event,
    NumberedEvent,
    encode_batch,
    encode_event,
)
from weir.protocol.ids import CheckpointId, EventNumber, Generation, SlotIndex, SubtaskId
from weir.protocol.messages import SlotMetrics, SubtaskMetrics
from weir.protocol.snapshots import SubtaskStatistics
from weir_backend.jobs.spec import JobSpec
from weir_backend.kit.access import digest
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.link import service
from weir_backend.models import Artifact, ArtifactContent, ArtifactKind, DesiredState, Job, Run, RunState, Spec, SpecState

_numbers = itertools.count(1)
AT_MS = 1_790_000_000_000
"""Time of the first event. Each later event is one millisecond later than the previous event."""


@dataclass(frozen=True, slots=True)
class RunHandle:
    job_id: int
    id: int
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def url(self, what: str = "") -> str:
        return f"/api/v1/runs/{self.id}{what}"


def new_job(database: Database, name: str | None = None) -> int:
    with database.session() as session:
        number = next(_numbers)
        job = Job(name=name or f"job{number}", desired_state=DesiredState.RUNNING, spec_number=1)
        artifact = Artifact(digest=f"{number:064x}", kind=ArtifactKind.PYTHON, name="job.py", size=1)
        session.add_all([job, artifact])
        session.flush()
        session.add(ArtifactContent(artifact_id=artifact.id, data=b"\n"))
        body = JobSpec(artifact=artifact.digest).model_dump(mode="json")
        session.add(Spec(job_id=job.id, number=1, artifact_id=artifact.id, body=body, state=SpecState.VALID))
        return job.id


def new_run(database: Database, job_id: int | None = None, *, start: dict[str, Any] | None = None) -> RunHandle:
    """Create a run, by default of a new job and with the start mode ``fresh``. Earlier runs of the job must have ended."""
    job_id = job_id or new_job(database)
    with database.session() as session:
        job = session.get_one(Job, job_id)
        spec = session.query(Spec).filter_by(job_id=job_id).one()
        job.run_number += 1
        token = f"run-token-{next(_numbers)}"
        run = Run(
            job_id=job_id, number=job.run_number, spec_id=spec.id, state=RunState.CREATED, start=start or {"mode": "fresh"},
            token_digest=digest(token),
        )  # fmt: skip
        session.add(run)
        session.flush()
        return RunHandle(job_id, run.id, token)


def end_run(database: Database, run: RunHandle) -> None:
    with database.session() as session:
        found = session.get_one(Run, run.id)
        found.state, found.ended_at = RunState.FAILED, now()


def numbered(events: Sequence[Event], first: int = 1) -> list[NumberedEvent]:
    return [NumberedEvent(EventNumber(first + index), AT_MS + first + index, event) for index, event in enumerate(events)]


def store_events(database: Database, run: RunHandle, *events: Event, first: int = 1) -> None:
    """Store events of the run as the API does. ``first`` is the number of the first event."""
    with database.session() as session:
        known = service.known_run(session, run.id, run.token)
        service.store(session, RecordedTasks(), known, numbered(events, first), oldest=first)


def body_of(events: Sequence[NumberedEvent]) -> bytes:
    return encode_batch([encode_event(one) for one in events])


def triggered(checkpoint: int, *, trigger: str = "periodic", generation: int = 1, subtasks: int = 2) -> CheckpointTriggered:
    return CheckpointTriggered(CheckpointId(checkpoint), Generation(generation), trigger, subtasks)


def completed(
    checkpoint: int, *, trigger: str = "periodic", generation: int = 1, subtasks: int = 2, written: int | None = None
) -> CheckpointCompleted:
    """``written`` is the size of the state files that the checkpoint wrote. Older drivers
    do not report the size."""
    return CheckpointCompleted(
        CheckpointId(checkpoint), Generation(generation), trigger, 40 + checkpoint, 1_000 * subtasks,
        tuple(
            AcknowledgedStatistics(
                SubtaskId(index // 2, index % 2),
                SubtaskStatistics(
                    sync_us=100 * (index + 1), async_ms=1.5 * (index + 1), alignment_ms=2.0, start_delay_ms=0.5, state_bytes=1_000
                ),
            )
            for index in range(subtasks)
        ),
        written,
    )  # fmt: skip


def sample(slot: int, seconds: int, *, subtasks: int = 2, generation: int = 1) -> SlotMetrics:
    """Return the metrics of a slot after ``seconds``. Each subtask reads 100 records/s and is backpressured for a quarter of the time."""
    return SlotMetrics(
        Generation(generation), SlotIndex(slot), 200 << 20, 300_000 * seconds,
        tuple(
            SubtaskMetrics(
                chain, slot, 100 * seconds, 50 * seconds, 1_000 * seconds, 500 * seconds,
                400_000 * seconds, 300_000 * seconds, 250_000 * seconds, 50_000 * seconds,
            )
            for chain in range(subtasks)
        ),
        {"counts.keys": 10 * seconds},
    )  # fmt: skip
