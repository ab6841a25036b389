"""Jobs by name, and checks of specs in the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from weir_backend.jobs import repository as jobs
from weir_backend.jobs.spec import with_defaults
from weir_backend.models import Job, Spec, SpecCheck, SpecState

VERSIONS_COMPARED_MAX = 50
"""The maximum number of versions that are compared with a manifest, newest first."""


def find_and_lock(session: Session, name: str) -> Job | None:
    """Return the job with this name and lock it. An advisory lock makes concurrent callers with the same name wait until this transaction ends, so
    that only one of them creates the job."""
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"job {name}", 0))))
    found = jobs.find_by_name(session, name)
    return jobs.find(session, found.id, lock=True) if found is not None else None


def find_version(session: Session, job: Job, body: Mapping[str, Any]) -> Spec | None:
    """Return the version of the job with this body. Prefer the current version to other versions. Ignore versions that do not compile. Ignore
    versions that are still being compiled, except the current version."""
    recent = jobs.specs_of(job.id).order_by(Spec.number.desc()).limit(VERSIONS_COMPARED_MAX)
    candidates: list[Spec | None] = [jobs.find_spec(session, job.id, job.spec_number), *session.scalars(recent)]
    for spec in filter(None, candidates):
        usable = spec.state is SpecState.VALID or (spec.state is SpecState.COMPILING and spec.number == job.spec_number)
        if usable and with_defaults(spec.body) == body:
            return spec
    return None


def find_check(session: Session, digest: bytes) -> SpecCheck | None:
    """Return a check and lock it."""
    return session.scalar(select(SpecCheck).where(SpecCheck.digest == digest).with_for_update())


def find_check_by_id(session: Session, check_id: int, *, lock: bool = False) -> SpecCheck | None:
    query = select(SpecCheck).where(SpecCheck.id == check_id)
    return session.scalar(query.with_for_update().execution_options(populate_existing=True) if lock else query)
