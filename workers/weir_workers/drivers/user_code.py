"""Write user code to disk, where a process can load it."""

from __future__ import annotations

import io
import lzma
import shutil
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from weir.errors import ConfigError
from weir_backend.models import ArtifactKind

UNPACKED_BYTES_MAX = 1 << 30
FILES_MAX = 50_000
_DAMAGED = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError, ValueError, OSError,
)  # fmt: skip
"""Errors that mean that an archive cannot be unpacked."""


def unpack(kind: ArtifactKind, name: str, data: bytes, folder: Path) -> Path | None:
    """Write the artifact into ``folder``, replacing its content. Returns the path of the archive if the artifact is an
    archive. Raises ConfigError for an archive that cannot be unpacked."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    if kind is ArtifactKind.PYTHON:
        (folder / name).write_bytes(data)
        return None
    _unpack(name, data, folder)
    archive = folder.with_name(f"{folder.name}.zip")
    archive.write_bytes(data)
    return archive


def _unpack(name: str, data: bytes, folder: Path) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            if len(members) > FILES_MAX or sum(member.file_size for member in members) > UNPACKED_BYTES_MAX:
                raise ConfigError(f"{name} unpacks to more than {UNPACKED_BYTES_MAX >> 20} MiB or {FILES_MAX} files")
            for member in members:
                path = PurePosixPath(member.filename)
                if path.is_absolute() or ".." in path.parts:
                    raise ConfigError(f"{name} contains {member.filename!r}, which is outside the archive's folder")
            archive.extractall(folder)
    except _DAMAGED as error:
        raise ConfigError(f"{name} cannot be unpacked: {error}") from None
