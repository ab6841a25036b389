"""The entries of the job log, which is the source of truth about a job.

The entries are numbered without gaps, and each is created only if absent. So the writer of entry n has read all entries before n.
``weir.protocol.log_view`` computes the state that the entries describe. A summary entry contains this state, so that the
entries before it can be deleted.

``nonce`` identifies the writer's attempt. A writer that does not know whether its entry was created reads the entry with the same
number and compares the nonce. ``timestamp_ms`` is the writer's wall clock, for display only.
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
    """The purpose of a generation."""

    RUN = "run"
    MAINTENANCE = "maintenance"
    """Garbage collection while the job has no run. The garbage collection has its own generation, which fences a driver
    that was paused and continues later."""
    IMPORT = "import"
    """The import of a checkpoint. See ``CheckpointImported``."""


@dataclass(frozen=True, slots=True)
class GenerationStarted:
    """Fences all older generations: later entries of an older generation have no effect.

    ``branch``: the branch that the generation continues (``LogView.branch_after``). ``first_checkpoint``: the lowest
    checkpoint id that the generation will use. The first id is higher than all ids in the log and all ids that the writer
    has triggered.
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
    """The manifest and all its files are durable. ``manifest_path`` is relative to the job's directory."""

    generation: Generation
    checkpoint: CheckpointId
    manifest_path: str
    manifest_checksum: str
    state_bytes: int
    nonce: str
    timestamp_ms: int
    is_savepoint: bool = False


@dataclass(frozen=True, slots=True)
class CheckpointPublished:
    """The sinks have published the output of the checkpoint and of all its ancestors. The coordinator never commits the output of
    these checkpoints again."""

    generation: Generation
    checkpoint: CheckpointId
    nonce: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class CheckpointImported:
    """A checkpoint was imported. Like a start without state, an import starts a new generation and a new branch, and abandons
    all other checkpoints.

    The start and the completion are one entry, because a crash between two entries would leave a job without its state. All
    files of the manifest have been copied and are durable. As with a savepoint, the user owns the checkpoint.
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
    """The checkpoints can no longer be restored. This entry is written before any file of the checkpoints is deleted."""

    generation: Generation
    checkpoints: tuple[CheckpointId, ...]
    reason: str
    nonce: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class CheckpointPinned:
    """Pins or unpins a checkpoint. A savepoint is pinned when it completes."""

    generation: Generation
    checkpoint: CheckpointId
    pinned: bool
    nonce: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class BranchAbandoned:
    """The revocable sinks have revoked the output that ``branch`` committed after ``after_checkpoint``.

    The output of other sinks stays visible, because the user has accepted duplicates.
    """

    generation: Generation
    branch: str
    after_checkpoint: CheckpointId | None
    checkpoints: tuple[CheckpointId, ...]
    nonce: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class BranchReinstated:
    """Undoes BranchAbandoned: the sinks have published the output of these checkpoints again."""

    generation: Generation
    branch: str
    checkpoints: tuple[CheckpointId, ...]
    nonce: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class LogSummarised:
    """The state that all earlier entries of the log describe. A reader that starts with this entry does not need the earlier
    entries.

    ``view`` is a ``LogView`` as JSON. Only the process that runs ``generation`` writes a summary.
    """

    generation: Generation
    view: JsonValue
    nonce: str
    timestamp_ms: int


Entry: TypeAlias = (
    GenerationStarted
    | CheckpointCompleted
    | CheckpointPublished
    | CheckpointImported
    | CheckpointRetired
    | CheckpointPinned
    | BranchAbandoned
    | BranchReinstated
    | LogSummarised
)

_KINDS: dict[str, type] = {kind.__name__: kind for kind in get_args(Entry)}


def encode_entry(entry: Entry) -> bytes:
    """Return one JSON object: ``entry`` is the kind of the entry, and the other members are the fields."""
    fields = codec.to_json(entry)
    assert isinstance(fields, dict)
    value = {"format": LOG_FORMAT, "entry": type(entry).__name__, **fields}
    return codec.dump_json(value)


def decode_entry(data: bytes | bytearray | memoryview) -> Entry:
    """Raises ProtocolError for anything except a complete entry of a known format and kind."""
    value = codec.parse_json(data, "it")
    if not isinstance(value, dict):
        raise ProtocolError(f"expected an object, got {type(value).__name__}")
    written, kind = value.pop("format", None), value.pop("entry", None)
    if written != LOG_FORMAT or type(written) is not int:
        raise ProtocolError(
            f"format {written!r}, but this version of Weir reads {LOG_FORMAT}: a newer version may have written it"
        )
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ProtocolError(f"unknown entry kind {kind!r}")
    return codec.from_json(_KINDS[kind], value)
