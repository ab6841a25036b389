"""Manifests in checkpoint storage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from weir.errors import CheckpointError, NotFound, ProtocolError
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.logview import CheckpointRecord
from weir.protocol.manifest import CheckpointStatistics, Manifest, decode_manifest, encode_manifest, summarise
from weir.protocol.paths import manifest_path
from weir.protocol.snapshots import SubtaskSnapshot
from weir.storage.base import CheckpointStorage
from weir.storage.checksums import checksum
from weir.storage.layout import FileIdentity, JobLayout, identify


@dataclass(frozen=True, slots=True)
class WrittenManifest:
    """What the log's entry says of it. ``path`` is relative to the job's directory."""

    path: str
    checksum: str
    bytes: int


def write_manifest(storage: CheckpointStorage, layout: JobLayout, manifest: Manifest) -> WrittenManifest:
    """Durable when it returns; the checkpoint is completed only once the log says so. Raises StorageError."""
    data = encode_manifest(manifest)
    path = manifest_path(manifest.checkpoint, manifest.generation)
    storage.put(layout.absolute(path), (data,))
    return WrittenManifest(path, checksum((data,)), len(data))


def read_manifest(storage: CheckpointStorage, layout: JobLayout, record: CheckpointRecord) -> Manifest:
    """Raises CheckpointError if it is missing, half-written, damaged or another one than the log speaks of."""
    path = layout.absolute(record.manifest_path)
    try:
        data = storage.get(path)
    except NotFound:
        raise _unusable(storage, record, path, "is missing") from None
    found = checksum((data,))
    if found != record.manifest_checksum:
        raise _unusable(
            storage,
            record,
            path,
            f"is damaged or half-written ({data.nbytes} bytes, {found}; the log says {record.manifest_checksum})",
        )
    try:
        manifest = decode_manifest(data)
    except ProtocolError as error:
        raise _unusable(storage, record, path, f"cannot be read: {error}") from None
    if (manifest.checkpoint, manifest.generation) != (record.checkpoint, record.generation):
        raise _unusable(storage, record, path, f"is that of checkpoint {manifest.checkpoint}, generation {manifest.generation}")
    return manifest


def statistics_of(
    subtasks: Iterable[SubtaskSnapshot], *, checkpoint: CheckpointId, generation: Generation, end_to_end_ms: float
) -> CheckpointStatistics:
    """What a checkpoint has written itself is told from what it only refers to by the names of its files."""
    snapshots = tuple(subtasks)
    own = FileIdentity(generation, checkpoint)
    paths = {file.path for subtask in snapshots for operator in subtask.operators for file in operator.files}
    earlier = {path for path in paths if identify(path) not in (own, None)}
    return summarise(snapshots, end_to_end_ms=end_to_end_ms, earlier_files=earlier)


def _unusable(storage: CheckpointStorage, record: CheckpointRecord, path: str, why: str) -> CheckpointError:
    return CheckpointError(
        f"checkpoint {record.checkpoint} cannot be restored: its manifest {storage.url}/{path} {why}. "
        "Bring the file back from a backup, or restore another checkpoint with --from"
    )
