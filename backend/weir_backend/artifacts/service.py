"""Taking in files of user code. Nothing of them is run here, nor parsed: that is for a worker's subprocess."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import PurePath

from sqlalchemy.orm import Session

from weir_backend.artifacts import repository
from weir_backend.errors import Invalid, NotFound, TooLarge
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.models import Artifact, ArtifactKind

_ZIP_MAGIC = b"PK\x03\x04"


async def receive(parts: AsyncIterator[bytes], *, bytes_max: int) -> bytes:
    """All of it is read, whatever its size: whoever sends it hears the answer only once he has sent everything. Raises TooLarge."""
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
            f"the file has {size:,} bytes, at most {bytes_max:,} are taken",
            "leave data out of it, and large libraries",
        )
    return b"".join(kept)


def upload(session: Session, caller: Caller, *, name: str, data: bytes) -> tuple[Artifact, bool]:
    """The artifact of this content, and whether it is new. Raises Invalid."""
    kind = _kind(name)
    if not data:
        raise Invalid("empty", f"{name} is empty", "upload the file of the job")
    if kind is not ArtifactKind.PYTHON and not data.startswith(_ZIP_MAGIC):
        raise Invalid(
            "not-an-archive", f"{name} is no zip archive", "upload a .py file, or a .zip or .whl with the job's package"
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
        raise Invalid("unknown-kind", f"{name!r} is none of .py, .zip, .whl", "name the file as it is on your disk") from None


def get(session: Session, artifact_id: int) -> Artifact:
    """Raises NotFound."""
    found = repository.find(session, artifact_id)
    if found is None:
        raise NotFound("no-artifact", f"there is no artifact {artifact_id}")
    return found
