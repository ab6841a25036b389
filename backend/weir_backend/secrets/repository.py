"""Queries on secrets."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import cast, func, select
from sqlalchemy.dialects.postgresql import JSONPATH
from sqlalchemy.orm import Session

from weir_backend.kit.listing import Fields, contains, equals
from weir_backend.models import Job, Secret, Spec

FIELDS = Fields(
    sortable={"id": Secret.id, "name": Secret.name, "created_at": Secret.created_at, "updated_at": Secret.updated_at},
    filters={"id": equals(Secret.id, int), "name": contains(Secret.name)},
    default=("name", False),
    key=Secret.id,
)


def find(session: Session, secret_id: int, *, lock: bool = False) -> Secret | None:
    query = select(Secret).where(Secret.id == secret_id)
    return session.scalar(query.with_for_update().execution_options(populate_existing=True) if lock else query)


def by_names(session: Session, names: Collection[str]) -> Sequence[Secret]:
    return session.scalars(select(Secret).where(Secret.name.in_(names))).all()


def is_taken(session: Session, name: str) -> bool:
    return session.scalar(select(Secret.id).where(Secret.name == name)) is not None


def count(session: Session) -> int:
    return session.scalar(select(func.count()).select_from(Secret)) or 0


def jobs_that_use(session: Session, name: str) -> Sequence[str]:
    """Return the names of the jobs whose current spec refers to the secret, in order."""
    parameters = Spec.body["parameters"]
    path = cast("$.* ? (@ == $reference)", JSONPATH)
    refers = func.jsonb_path_exists(parameters, path, func.jsonb_build_object("reference", f"secret:{name}"))
    current = (Spec.job_id == Job.id) & (Spec.number == Job.spec_number)
    query = select(Job.name).join(Spec, current).where(Job.deleted_at.is_(None), refers).order_by(Job.name)
    return session.scalars(query).all()
