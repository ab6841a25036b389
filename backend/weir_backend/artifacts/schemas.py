"""Responses about artifacts."""

from __future__ import annotations

from datetime import datetime

from weir_backend.kit.schemas import ResponseModel
from weir_backend.models import ArtifactKind


class ArtifactRead(ResponseModel):
    """`digest` is the hexadecimal SHA-256 of the content. `size` is the number of bytes of the content. `uploaded_at` is the time of the last
    upload. Artifacts that no job uses are deleted some days after their last upload."""

    id: int
    digest: str
    kind: ArtifactKind
    name: str
    size: int
    created_by: int | None
    created_at: datetime
    uploaded_at: datetime
