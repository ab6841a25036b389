"""Uploads of user code. The API neither runs nor parses user code. Workers run user code in a subprocess."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import PurePath

from sqlalchemy.orm import Session

from weir_backend.artifacts import repository
from weir_backend.errors import Invalid, NotFound, TooLarge, or_raise
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.models import Artifact, ArtifactKind

_ZIP_MAGIC = b"PK\x03\x04"


async def receive(parts: AsyncIterator[bytes], *, bytes_max: int) -> bytes:
    """Read the whole body, even if it exceeds ``bytes_max``, because clients read the response only after they have sent everything. Raises
    TooLarge."""
    kept, size = [], 0
    async for part in parts:
        size += len(part)
        if size <= bytes_max:
            kept.append(part)
        else:
            kept.clear()
    if size > bytes_max:
        raise TooLarge(
            "too-large",
            f"The file has {size:,} bytes; the limit is {bytes_max:,}.",
            "Remove data and large libraries from the file.",
        )
    return b"".join(kept)


def upload(session: Session, caller: Caller, *, name: str, data: bytes) -> tuple[Artifact, bool]:
    """Store a file. Return the artifact, and True if its content is new. Raises Invalid."""
    kind = _kind(name)
    if not data:
        raise Invalid("empty", f"The file {name} is empty.", "Upload the file that contains the job.")
    if kind is not ArtifactKind.PYTHON and not data.startswith(_ZIP_MAGIC):
        raise Invalid(
            "not-an-archive",
            f"The file {name} is not a zip archive.",
            "Upload a .py file, or a .zip or .whl that contains the package of the job.",
        )
    digest = hashlib.sha256(data).hexdigest()
    found, new = repository.add(session, digest=digest, kind=kind, name=name, data=data, created_by=caller.user_id, moment=now())
    if new:
        audit(session, caller, "create", "artifact", found.id, after={"name": name, "digest": digest, "size": len(data)})
    return found, new


def _kind(name: str) -> ArtifactKind:
    try:
        return ArtifactKind(PurePath(name).suffix.removeprefix(".").lower())
    except ValueError:
        raise Invalid(
            "unknown-kind", f"The file name {name!r} does not end in .py, .zip or .whl.", "Use the original file name."
        ) from None


def get(session: Session, artifact_id: int) -> Artifact:
    """Raises NotFound."""
    return or_raise(repository.find(session, artifact_id), NotFound("no-artifact", f"Artifact {artifact_id} does not exist."))
