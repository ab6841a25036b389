"""The contents of a job's last checkpoint: source positions, operator state and the totals of its stats sinks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from weir.connectors.base import Source
from weir.connectors.stats_sink import Totals
from weir.operators.base import SnapshotReader
from weir.protocol import codec
from weir.protocol.ids import OperatorUid
from weir.protocol.manifest import Manifest
from weir.protocol.snapshots import JsonValue, Split
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage
from weir.storage.manifests import read_manifest
from weir.storage.state_files import StateReader


@dataclass(frozen=True, slots=True)
class SplitRead:
    """A split from which records were read. ``position``: the position after the last read record. None means that the whole
    split was read."""

    split: Split
    position: JsonValue


@dataclass(frozen=True, slots=True)
class CheckpointContents:
    """Contents by operator uid. ``splits``: for each source, the splits from which it read records before its barrier.
    ``states``: for each keyed operator, its key columns and aggregates, one row per key."""

    splits: Mapping[str, tuple[SplitRead, ...]]
    states: Mapping[str, pa.Table]
    totals: Totals


def read_checkpoint(directory: Path, job: str, sources: Mapping[OperatorUid, Source], parallelism: int) -> CheckpointContents:
    """Read the newest checkpoint. Raises CheckpointError if a file is damaged, and SystemExit if the job has no checkpoint."""
    storage, layout = open_storage(str(directory)), JobLayout(job)
    view, _ = JobLog(storage, layout).read()
    if view.newest is None:
        raise SystemExit(f"job {job} has no completed checkpoint in {directory}")
    manifest = read_manifest(storage, layout, view.newest)
    with StateReader(storage, layout, manifest.checkpoint) as reader:
        return contents_of(manifest, reader, sources, parallelism)


def contents_of(
    manifest: Manifest, reader: SnapshotReader, sources: Mapping[OperatorUid, Source], parallelism: int
) -> CheckpointContents:  # fmt: skip
    files: dict[str, list[pa.Table]] = {}
    totals = Totals()
    for one in manifest.operators():
        for file in one.files:
            with reader.open(file) as content:
                files.setdefault(one.operator, []).append(pa.ipc.open_file(content.read()).read_all())
        if one.inline is not None:
            totals = totals.plus(codec.from_json(Totals, one.inline))
    return CheckpointContents(
        splits={uid: _splits_read(manifest, uid, source, parallelism) for uid, source in sources.items()},
        states={uid: pa.concat_tables(tables) for uid, tables in files.items()},
        totals=totals,
    )


def _splits_read(manifest: Manifest, uid: OperatorUid, source: Source, parallelism: int) -> tuple[SplitRead, ...]:
    state = manifest.assigners[uid]
    begun = {split.id: split.position for one in manifest.operators() if one.operator == uid for split in one.splits}
    begun |= {split.id: split.position for split in state.pending}
    untouched = {split for split, position in begun.items() if position is None}
    assigned = source.splits(parallelism)[: state.next]
    return tuple(SplitRead(split, begun.get(split.id)) for split in assigned if split.id not in untouched)
