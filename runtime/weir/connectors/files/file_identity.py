"""The identity of an input file. Each split contains the identity that its file had when the job listed the file. Therefore, a
job never mixes rows of two versions of a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from shlex import quote

from weir.errors import InputError
from weir.protocol.ids import CheckpointId


@dataclass(frozen=True, slots=True)
class InputFileIdentity:
    """A field is None if it is unknown. ``bytes``: size of the file. ``modified_ns``: modification time, in nanoseconds since 1970.
    ``footer``: checksum of a Parquet footer, as ``xxh3:<32 hex digits>``."""

    bytes: int | None = None
    modified_ns: int | None = None
    footer: str | None = None


def identity_of(descriptor: int) -> InputFileIdentity:
    """Return the identity of an open file, without the footer."""
    status = os.fstat(descriptor)
    return InputFileIdentity(status.st_size, status.st_mtime_ns)


def check_unchanged(path: str, listed: InputFileIdentity, present: InputFileIdentity, *, restored: CheckpointId | None) -> None:
    """Compare the current identity of a file with the identity in its split. A field that is None is not compared.

    ``restored`` is the checkpoint that contains the split's position, or None if the split has not been started. Raises InputError.
    """
    differences = []
    if listed.bytes is not None and present.bytes is not None and listed.bytes != present.bytes:
        differences.append(f"size {present.bytes} bytes instead of {listed.bytes}")
    if listed.modified_ns is not None and present.modified_ns is not None and listed.modified_ns != present.modified_ns:
        differences.append(f"modified {_utc(present.modified_ns)} instead of {_utc(listed.modified_ns)}")
    if listed.footer is not None and present.footer is not None and listed.footer != present.footer:
        differences.append(f"footer checksum {present.footer} instead of {listed.footer}")
    if differences:
        since = "the job listed it" if restored is None else f"checkpoint {restored}"
        touch = (
            ""
            if listed.modified_ns is None
            else f" with its modification time (`touch -d {_utc(listed.modified_ns)} {quote(path)}`)"
        )
        raise InputError(
            f"{path}: the file has changed since {since}: {', '.join(differences)}. If the job continued, it would "
            f"mix rows of both versions of the file. Put the original file back{touch} and resume the job, or start the job "
            "without state (`weir run --from 0`) to read the new file."
        )


def _utc(time_ns: int) -> str:
    seconds, fraction = divmod(time_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:09d}Z"
