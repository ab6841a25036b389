"""Reading the history of exceptions."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from weir_backend.errors import NotFound
from weir_backend.failures import repository
from weir_backend.kit.listing import Listing, page
from weir_backend.models import Failure


def list_failures(session: Session, job_id: int, wanted: Listing, response: Response) -> Sequence[Failure]:
    """Raises NotFound."""
    if not repository.job_exists(session, job_id):
        raise NotFound("not-found", f"there is no job {job_id}")
    query = select(Failure).where(Failure.job_id == job_id)
    found: Sequence[Failure] = page(session, query, wanted, repository.FIELDS, response, unit="failures")
    return found
