"""Entries of a job's log: the one place that says what has happened to a job.

The log is numbered without holes and every entry is created only if absent, so that entry n was written
by somebody who knew entries 1 to n - 1. What they add up to is in ``weir.protocol.logview``. Now and then an
entry carries all of that, so that those before it can be deleted.

``nonce`` names the writer's attempt: who does not know whether its entry was created reads the number
back and compares. ``timestamp_ms`` is of the writer's wall clock, for people only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, get_args

from weir.errors import ProtocolError
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.snapshots import JsonValue

LOG_FORMAT = 1


class Purpose(StrEnum):
    """What a generation was started for."""

    RUN = "run"
    MAINTENANCE = "maintenance"
    """No run was live and somebody wanted to delete: that takes a generation too, so that no sleeping run goes on behind it."""
    IMPORT = "import"
    """To make a checkpoint from elsewhere the beginning of a line: see ``CheckpointImported``."""


@dataclass(frozen=True, slots=True)
class GenerationStarted:
    """Fences every older generation: nothing they append from now on counts.

    ``branch`` is the line of history that it goes on with (``LogView.branch_after``). ``first_checkpoint``
    is the lowest checkpoint id that it will use, above all ids that the log has seen and above all those
    that the writer itself has triggered.
    """

    generation: Generation
    restored_from: CheckpointId | None
    branch: str
    first_checkpoint: CheckpointId
    nonce: str
    timestamp_ms: int
    purpose: Purpose = Purpose.RUN


@dataclass(frozen=True, slots=True)
class CheckpointCompleted:
    """The manifest is written and every file it names is durable. ``manifest_path`` is relative to the job's directory."""

    generation: Generation
    checkpoint: CheckpointId
    manifest_path: str
    manifest_checksum: str
    state_bytes: int
    nonce: str
    timestamp_ms: int
    is_savepoint: bool = False


@dataclass(frozen=True, slots=True)
class CheckpointImported:
    """A checkpoint from elsewhere begins a line of its own, with a generation of its own: everything else is left behind, as by a start
    from nothing. One entry and not two, since a cut between them would leave a job that has lost its state.

    All that the manifest names was copied and is durable. It is owned by the user, as a savepoint is.
    """

    generation: Generation
    checkpoint: CheckpointId
    branch: str
    manifest_path: str
    manifest_checksum: str
    state_bytes: int
    nonce: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class CheckpointRetired:
    """Not to be restored any more. Comes before the first of its files is deleted."""

    generation: Generation
    checkpoints: tuple[CheckpointId, ...]
    reason: str
    nonce: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class CheckpointPinned:
    """``pinned``: kept until it is unpinned. A savepoint is pinned from its completion on."""

    generation: Generation
    checkpoint: CheckpointId
    pinned: bool
    nonce: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class BranchAbandoned:
    """What ``branch`` had committed after ``after_checkpoint`` has been taken back from the sinks (or approved as duplicates)."""

    generation: Generation
    branch: str
    after_checkpoint: CheckpointId | None
    checkpoints: tuple[CheckpointId, ...]
    nonce: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class BranchReinstated:
    """The undo of BranchAbandoned: the sinks show again what these checkpoints had committed."""

    generation: Generation
    branch: str
    checkpoints: tuple[CheckpointId, ...]
    nonce: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class LogSummarised:
    """All that the entries before this one add up to: who reads from here on needs none of them.

    ``view`` is a ``LogView`` as the codec writes it. Written by the process that runs ``generation`` and by nobody else.
    """

    generation: Generation
    view: JsonValue
    nonce: str
    timestamp_ms: int


Entry: TypeAlias = (
    GenerationStarted
    | CheckpointCompleted
    | CheckpointImported
    | CheckpointRetired
    | CheckpointPinned
    | BranchAbandoned
    | BranchReinstated
    | LogSummarised
)

_KINDS: dict[str, type] = {kind.__name__: kind for kind in get_args(Entry)}


def encode_entry(entry: Entry) -> bytes:
    """One JSON object: ``entry`` names the kind, the other members are its fields."""
    fields = codec.to_json(entry)
    assert isinstance(fields, dict)
    value = {"format": LOG_FORMAT, "entry": type(entry).__name__, **fields}
    return codec.write(value)


def decode_entry(data: bytes | bytearray | memoryview) -> Entry:
    """Raises ProtocolError for anything that is not a whole entry of a format and kind this version knows."""
    value = codec.parse(data, "it")
    if not isinstance(value, dict):
        raise ProtocolError(f"expected an object, got {type(value).__name__}")
    written, kind = value.pop("format", None), value.pop("entry", None)
    if written != LOG_FORMAT or type(written) is not int:
        raise ProtocolError(f"format {written!r}, this version of Weir reads {LOG_FORMAT}: was it written by a newer one?")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ProtocolError(f"unknown kind of entry {kind!r}")
    return codec.from_json(_KINDS[kind], value)
