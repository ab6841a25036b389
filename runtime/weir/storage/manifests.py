"""Writing and reading manifests in checkpoint storage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from weir.errors import CheckpointError, ObjectNotFound, ProtocolError
from weir.protocol.channel_state import EdgeChannels, attach, detach
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.log_view import CheckpointRecord
from weir.protocol.manifest import CheckpointStatistics, Manifest, aggregate_statistics, decode_manifest, encode_manifest
from weir.protocol.paths import manifest_path
from weir.protocol.snapshots import StateFile, SubtaskSnapshot
from weir.storage.base import CheckpointStorage, checksum
from weir.storage.layout import FileOrigin, JobLayout, identify, pack_path

INLINE_BYTES_MAX = 16 * 1024
"""If the arrays of the channels take more bytes in total, they are in a separate file. Otherwise, they are in the manifest."""


@dataclass(frozen=True, slots=True)
class WrittenManifest:
    """The location, checksum and size of a written manifest, as the log entry of the checkpoint records them. ``path`` is
    relative to the job's directory. ``manifest`` is the manifest as it was written."""

    path: str
    checksum: str
    bytes: int
    manifest: Manifest


def write_manifest(storage: CheckpointStorage, layout: JobLayout, manifest: Manifest) -> WrittenManifest:
    """Write a manifest. The manifest is durable on return, but only the log entry completes the checkpoint. Raise
    StorageError."""
    if sum(array.size for one in manifest.channels for array in one.arrays()) > INLINE_BYTES_MAX:
        detached, channel_data = detach(manifest.channels)
        channel_path = pack_path(generation=manifest.generation, checkpoint=manifest.checkpoint, attempt="channels")
        storage.put(layout.absolute(channel_path), (channel_data,))
        channel_file = StateFile(channel_path, len(channel_data), checksum((channel_data,)))
        manifest = replace(manifest, channels=detached, channel_file=channel_file)
    data = encode_manifest(manifest)
    path = manifest_path(manifest.checkpoint, manifest.generation)
    storage.put(layout.absolute(path), (data,))
    return WrittenManifest(path, checksum((data,)), len(data), manifest)


def read_manifest(storage: CheckpointStorage, layout: JobLayout, record: CheckpointRecord) -> Manifest:
    """Read the manifest of ``record``.

    Raise CheckpointError if the manifest is missing, truncated or damaged, or if it is not the manifest that the log records.
    """
    path = layout.absolute(record.manifest_path)
    try:
        data = storage.get(path)
    except ObjectNotFound:
        raise _unusable(storage, record, path, "is missing") from None
    actual = checksum((data,))
    if actual != record.manifest_checksum:
        raise _unusable(
            storage,
            record,
            path,
            f"is damaged or truncated ({data.nbytes} bytes, {actual}; the log records {record.manifest_checksum})",
        )
    try:
        manifest = decode_manifest(data)
    except ProtocolError as error:
        # The file is as it was written, so a backup does not help.
        raise _unusable(
            storage, record, path, f"cannot be read: {error}", advice="Use the version of Weir that wrote the manifest"
        ) from None
    if (manifest.checkpoint, manifest.generation) != (record.checkpoint, record.generation):
        raise _unusable(storage, record, path, f"belongs to checkpoint {manifest.checkpoint}, generation {manifest.generation}")
    return manifest


def read_channels(storage: CheckpointStorage, layout: JobLayout, manifest: Manifest) -> tuple[EdgeChannels, ...]:
    """Return the channels of ``manifest`` with their arrays. Raise CheckpointError if the channel file is missing or damaged."""
    file = manifest.channel_file
    if file is None:
        return manifest.channels
    path = layout.absolute(file.path)
    problem = f"Cannot restore checkpoint {manifest.checkpoint}: the file of its channels {storage.url}/{path}"
    try:
        data = storage.get(path)
        if checksum((data,)) != file.checksum:
            raise CheckpointError(
                f"{problem} is damaged. Restore the file from a backup, or restore another checkpoint with --from."
            )
        return attach(manifest.channels, data)
    except ObjectNotFound:
        raise CheckpointError(
            f"{problem} is missing. Restore the file from a backup, or restore another checkpoint with --from."
        ) from None
    except ProtocolError as error:
        raise CheckpointError(f"{problem} cannot be read: {error}. Restore another checkpoint with --from.") from None


def checkpoint_statistics(
    subtasks: Iterable[SubtaskSnapshot], *, checkpoint: CheckpointId, generation: Generation, end_to_end_ms: float
) -> CheckpointStatistics:
    """Return the statistics of a checkpoint.

    File names show which files the checkpoint wrote and which files it only references.
    """
    snapshots = tuple(subtasks)
    own = FileOrigin(generation, checkpoint)
    paths = {file.path for subtask in snapshots for operator in subtask.operators for file in operator.files}
    earlier = {path for path in paths if identify(path) not in (own, None)}
    return aggregate_statistics(snapshots, end_to_end_ms=end_to_end_ms, earlier_files=earlier)


def _unusable(
    storage: CheckpointStorage,
    record: CheckpointRecord,
    path: str,
    problem: str,
    *,
    advice: str = "Restore the file from a backup",
) -> CheckpointError:
    return CheckpointError(
        f"Cannot restore checkpoint {record.checkpoint}: its manifest {storage.url}/{path} {problem}. "
        f"{advice}, or restore another checkpoint with --from."
    )
