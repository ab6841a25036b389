"""Graphs in the database: each content once, whoever came with it."""

from __future__ import annotations

from sqlalchemy import Text, bindparam, cast, select
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.orm import Session

from weir_backend.graphs.content import GraphContent
from weir_backend.models import Graph


def store(session: Session, content: GraphContent) -> int:
    """Its id; it may be there already."""
    found = session.scalar(select(Graph.id).where(Graph.digest == content.digest))
    if found is None:
        body = cast(bindparam("body", content.text, type_=Text), JSONB)
        made = insert(Graph).values(digest=content.digest, body=body).on_conflict_do_nothing().returning(Graph.id)
        found = session.scalar(made) or session.scalar(select(Graph.id).where(Graph.digest == content.digest))
    assert found is not None
    return found
