"""Artifacts in the database."""

from __future__ import annotations

from sqlalchemy import Select, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from weir_backend.kit.listing import Fields, contains, equals
from weir_backend.models import Artifact, ArtifactContent, ArtifactKind

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
    return select(Artifact)


def find(session: Session, artifact_id: int) -> Artifact | None:
    return session.get(Artifact, artifact_id)


def find_by_digest(session: Session, digest: str) -> Artifact | None:
    return session.scalar(select(Artifact).where(Artifact.digest == digest))


def content(session: Session, artifact_id: int) -> bytes:
    return session.scalars(select(ArtifactContent.data).where(ArtifactContent.artifact_id == artifact_id)).one()


def add(session: Session, *, digest: str, kind: ArtifactKind, name: str, data: bytes, created_by: int | None) -> Artifact | None:
    """None: it is there already, perhaps since a moment ago."""
    values = {"digest": digest, "kind": kind, "name": name, "size": len(data), "created_by": created_by}
    added = session.scalar(insert(Artifact).values(values).on_conflict_do_nothing(index_elements=["digest"]).returning(Artifact))
    if added is not None:
        session.execute(insert(ArtifactContent).values(artifact_id=added.id, data=data))
    return added
