"""What is said of files of user code."""

from __future__ import annotations

from datetime import datetime

from weir_backend.kit.forms import Shown
from weir_backend.models import ArtifactKind


class ArtifactShown(Shown):
    """``digest``: SHA-256 of the content, hexadecimal. ``size`` in bytes. ``uploaded_at``: last; what no job uses is removed some days
    after that."""

    id: int
    digest: str
    kind: ArtifactKind
    name: str
    size: int
    created_by: int | None
    created_at: datetime
    uploaded_at: datetime
