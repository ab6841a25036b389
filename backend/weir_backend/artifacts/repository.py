"""Artifacts in the database."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Select, delete, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from weir_backend.kit.clock import now
from weir_backend.kit.listing import Fields, contains, equals
from weir_backend.models import Artifact, ArtifactContent, ArtifactKind, Job, Spec

FIELDS = Fields(
    sortable={"id": Artifact.id, "name": Artifact.name, "size": Artifact.size, "created_at": Artifact.created_at},
    filters={
        "id": equals(Artifact.id, int),
        "digest": equals(Artifact.digest, str),
        "name": equals(Artifact.name, str),
        "q": contains(Artifact.name),
    },
    default=("id", True),
    key=Artifact.id,
)


def listed() -> Select[Artifact]:
    """Select the artifacts whose content is not deleted."""
    return select(Artifact).where(Artifact.removed_at.is_(None))


def find(session: Session, artifact_id: int) -> Artifact | None:
    return session.scalar(listed().where(Artifact.id == artifact_id))


def find_by_digest(session: Session, digest: str) -> Artifact | None:
    """Find an artifact and lock it against deletion until this transaction ends."""
    return session.scalar(listed().where(Artifact.digest == digest).with_for_update(read=True))


def content(session: Session, artifact_id: int) -> bytes:
    return session.scalars(select(ArtifactContent.data).where(ArtifactContent.artifact_id == artifact_id)).one()


def add(
    session: Session, *, digest: str, kind: ArtifactKind, name: str, data: bytes, created_by: int | None, moment: datetime
) -> tuple[Artifact, bool]:
    """Add an artifact. Return the artifact, and True if its content is new."""
    row = insert(Artifact).values(
        digest=digest, kind=kind, name=name, size=len(data), created_by=created_by, created_at=moment, uploaded_at=moment
    )
    # A repeated upload renews ``uploaded_at``, because the artifact will soon be used.
    added = row.on_conflict_do_update(index_elements=["digest"], set_={"uploaded_at": moment, "removed_at": None})
    found = session.scalars(added.returning(Artifact), execution_options={"populate_existing": True}).one()
    content_row = insert(ArtifactContent).values(artifact_id=found.id, data=data).on_conflict_do_nothing()
    return found, session.scalar(content_row.returning(ArtifactContent.artifact_id)) is not None


def remove_unused(session: Session, before: datetime, count: int) -> int:
    """Delete artifacts that were last uploaded before ``before`` and that no job uses. Ignore uses by jobs that were deleted before
    ``before``. Return the number of deleted artifacts."""
    used = select(Spec.id).join(Job, Job.id == Spec.job_id).where(Spec.artifact_id == Artifact.id)
    used = used.where(or_(Job.deleted_at.is_(None), Job.deleted_at >= before))
    # Skip locked artifacts. A transaction locks an artifact before it stores a new spec that uses the artifact.
    chosen = listed().where(Artifact.uploaded_at < before, ~used.exists()).order_by(Artifact.id).limit(count)
    ids = [one.id for one in session.scalars(chosen.with_for_update(skip_locked=True))]
    session.execute(update(Artifact).where(Artifact.id.in_(ids)).values(removed_at=now()))
    session.execute(delete(ArtifactContent).where(ArtifactContent.artifact_id.in_(ids)))
    mentioned = select(Spec.id).where(Spec.artifact_id == Artifact.id).exists()
    session.execute(delete(Artifact).where(Artifact.id.in_(ids), ~mentioned))
    return len(ids)
