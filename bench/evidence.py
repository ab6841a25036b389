"""What a job left behind: how far it read, what state it had, what its sinks counted. All from its last checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from weir.connectors.base import Source
from weir.connectors.stats import Totals
from weir.protocol import codec
from weir.protocol.ids import OperatorUid
from weir.protocol.manifest import Manifest
from weir.protocol.snapshots import JsonValue, Split
from weir.storage.base import CheckpointStorage
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout
from weir.storage.manifests import read_manifest
from weir.storage.open import open_storage
from weir.storage.snapshots import StateReader


@dataclass(frozen=True, slots=True)
class SplitRead:
    """``position``: after the last record that was read; None: to the end."""

    split: Split
    position: JsonValue


class Evidence:
    """``sources``: of the job, by uid. Raises CheckpointError where something is damaged or no checkpoint has completed."""

    def __init__(self, directory: Path, job: str, sources: Mapping[OperatorUid, Source], parallelism: int) -> None:
        self._storage: CheckpointStorage = open_storage(str(directory))
        self._layout = JobLayout(job)
        self._sources = sources
        self._parallelism = parallelism
        view, _ = JobLog(self._storage, self._layout).read()
        if view.newest is None:
            raise SystemExit(f"job {job} has no completed checkpoint in {directory}")
        self._manifest: Manifest = read_manifest(self._storage, self._layout, view.newest)

    def splits_read(self, source: str) -> list[SplitRead]:
        """Splits of which something was read before the barrier."""
        uid = OperatorUid(source)
        unfinished = {
            split.id: split.position for one in self._manifest.operators() if one.operator == uid for split in one.splits
        }  # fmt: skip
        pending = {split.id for split in self._manifest.assigners[uid].pending}
        read = []
        for split in self._sources[uid].splits(self._parallelism):
            if split.id in pending or (split.id in unfinished and unfinished[split.id] is None):
                continue
            read.append(SplitRead(split, unfinished.get(split.id)))
        return read

    def state(self, operator: str) -> pa.Table:
        """Key and aggregates of every key of a keyed operator."""
        reader = StateReader(self._storage, self._layout, self._manifest.checkpoint)
        tables = [
            pa.ipc.open_file(reader.read(file)).read_all()
            for one in self._manifest.operators()
            if one.operator == operator
            for file in one.files
        ]
        return pa.concat_tables(tables)

    def sink_totals(self) -> Totals:
        """What the stats sinks had counted."""
        total = Totals()
        for one in self._manifest.operators():
            if one.inline is not None:
                total = total.plus(codec.from_json(Totals, one.inline))
        return total
