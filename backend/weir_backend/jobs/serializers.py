"""Read jobs with their newest run, last checkpoint and open operation. The number of queries does not depend on the number of jobs."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from weir_backend.actions.rules import JobActionFacts, job_actions
from weir_backend.alerts.facts import load_facts
from weir_backend.jobs import repository
from weir_backend.jobs.health import job_health, running_reasons
from weir_backend.jobs.schemas import CheckpointSummaryRead, HealthReasonRead, JobRead, OperationRead, RunSummaryRead
from weir_backend.kit.access import Caller
from weir_backend.kit.clock import now
from weir_backend.kit.heartbeats import Component, alive_since
from weir_backend.metrics.schemas import BottleneckRead
from weir_backend.models import Job, RunState, SpecState
from weir_backend.recovery.repository import applying_by_job
from weir_backend.runs.reachability import shown_state, unreachable_before
from weir_backend.runs.repository import newest_runs


def read_jobs(session: Session, caller: Caller, jobs: Sequence[Job]) -> list[JobRead]:
    ids = [job.id for job in jobs]
    runs = newest_runs(session, ids)
    checkpoints = repository.last_completed(session, ids)
    specs = repository.spec_states(session, ids)
    operations = repository.open_operations(session, ids)
    applying = applying_by_job(session, ids)
    moment = now()
    limit = unreachable_before(session, moment)
    running = [job_id for job_id, run in runs.items() if run.state is RunState.RUNNING]
    facts_of = load_facts(session, moment, jobs=running, diagnoses=True) if running else {}
    available = alive_since(session, moment, (Component.API,))
    result = []
    for job in jobs:
        run, checkpoint, operation = runs.get(job.id), checkpoints.get(job.id), operations.get(job.id)
        spec_state, problem = spec = specs.get(job.id, (SpecState.COMPILING, None))
        known = facts_of.get(job.id)
        health = job_health(
            desired=job.desired_state,
            spec_state=spec_state,
            spec_problem=problem,
            run_state=shown_state(run, limit) if run else None,
            run_reason=run.reason if run else "",
            restarts_stopped_reason=job.restarts_stopped_reason,
            restart_at=job.restart_at,
            running=running_reasons(known, available_since=available, now=moment) if known is not None else (),
        )
        facts = JobActionFacts.of(job, run, applying=applying.get(job.id), spec=spec)
        result.append(
            JobRead.read(
                job,
                state=health.state,
                health=health.health,
                health_reason=health.reason,
                health_reasons=[HealthReasonRead.model_validate(one) for one in health.reasons],
                bottleneck=BottleneckRead.of(known.diagnosis, moment) if known and health.state is RunState.RUNNING else None,
                spec_state=spec_state,
                run=RunSummaryRead.model_validate(run).model_copy(update={"state": health.state}) if run else None,
                last_checkpoint=CheckpointSummaryRead.model_validate(checkpoint) if checkpoint else None,
                operation=OperationRead.model_validate(operation) if operation else None,
                actions=job_actions(facts, caller.permissions),
            )
        )
    return result


def read_job(session: Session, caller: Caller, job: Job) -> JobRead:
    return read_jobs(session, caller, [job])[0]
