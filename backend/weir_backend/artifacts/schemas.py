"""What is said of files of user code."""

from __future__ import annotations

from datetime import datetime

from weir_backend.kit.forms import Shown
from weir_backend.models import ArtifactKind


class ArtifactShown(Shown):
    """``digest``: SHA-256 of the content, hexadecimal. ``size`` in bytes."""

    id: int
    digest: str
    kind: ArtifactKind
    name: str
    size: int
    created_by: int | None
    created_at: datetime
