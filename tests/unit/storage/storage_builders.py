"""Functions that build log entries, manifests and jobs for the storage tests. Most arguments have defaults."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from weir.kernel.split_assigner import SplitList
from weir.protocol.ids import CheckpointId, Generation, OperatorUid, SubtaskId
from weir.protocol.job_log import (
    BranchAbandoned,
    BranchReinstated,
    CheckpointCompleted,
    CheckpointPinned,
    CheckpointPublished,
    CheckpointRetired,
    Entry,
    GenerationStarted,
)
from weir.protocol.log_view import LogView
from weir.protocol.manifest import AssignerState, Manifest, SplitListFile, aggregate_statistics
from weir.protocol.snapshots import OperatorSnapshot, Split, StateFile, SubtaskSnapshot, SubtaskStatistics
from weir.storage.base import CheckpointStorage
from weir.storage.garbage_collection import StateReferences
from weir.storage.job_log import Appended, JobLog
from weir.storage.layout import JobLayout
from weir.storage.manifests import write_manifest
from weir.storage.split_lists import write_split_list
from weir.storage.state_files import StateFiles

S3_OPTIONS = {"access_key_id": "test", "secret_access_key": "test", "region": "us-east-1"}
JOB = "route delays/2026"
UID = OperatorUid("per-route")
_NONCES = itertools.count()


def nonce() -> str:
    return f"n{next(_NONCES)}"


def started(
    generation: int, *, restored_from: int | None = None, branch: str = "b1", first_checkpoint: int = 1, nonce_: str | None = None
) -> GenerationStarted:
    restored = None if restored_from is None else CheckpointId(restored_from)
    return GenerationStarted(Generation(generation), restored, branch, CheckpointId(first_checkpoint), nonce_ or nonce(), 1_000)


def completed(generation: int, checkpoint: int, *, savepoint: bool = False, nonce_: str | None = None) -> CheckpointCompleted:
    path = f"checkpoints/{checkpoint}/manifest-g{generation}.json"
    return CheckpointCompleted(
        Generation(generation), CheckpointId(checkpoint), path, "xxh3:00", 10, nonce_ or nonce(), 2_000, is_savepoint=savepoint
    )


def published(generation: int, checkpoint: int) -> CheckpointPublished:
    return CheckpointPublished(Generation(generation), CheckpointId(checkpoint), nonce(), 2_500)


def retired(generation: int, *checkpoints: int) -> CheckpointRetired:
    return CheckpointRetired(Generation(generation), tuple(map(CheckpointId, checkpoints)), "subsumed", nonce(), 3_000)


def pinned(generation: int, checkpoint: int, pin: bool = True) -> CheckpointPinned:
    return CheckpointPinned(Generation(generation), CheckpointId(checkpoint), pin, nonce(), 4_000)


def abandoned(generation: int, branch: str, after: int, *checkpoints: int) -> BranchAbandoned:
    return BranchAbandoned(
        Generation(generation), branch, CheckpointId(after), tuple(map(CheckpointId, checkpoints)), nonce(), 5_000
    )


def reinstated(generation: int, branch: str, *checkpoints: int) -> BranchReinstated:
    return BranchReinstated(Generation(generation), branch, tuple(map(CheckpointId, checkpoints)), nonce(), 6_000)


def fold(*entries: Entry) -> LogView:
    view = LogView()
    for entry in entries:
        view = view.apply(entry)
    return view


def manifest_of(
    generation: int,
    checkpoint: int,
    files: tuple[StateFile, ...],
    *,
    job: str = JOB,
    restored_from: int | None = None,
    split_list: StateFile | None = None,
) -> Manifest:
    lists = () if split_list is None else (SplitListFile(0, split_list),)
    snapshot = OperatorSnapshot(UID, 0, files=files, inline={"offsets": [1, 2, {"lag": None}]})
    subtask = SubtaskSnapshot(0, 0, (snapshot,), False, SubtaskStatistics(sync_us=7, async_ms=1.5))
    return Manifest(
        job=job,
        checkpoint=CheckpointId(checkpoint),
        generation=Generation(generation),
        branch="b1",
        restored_from=None if restored_from is None else CheckpointId(restored_from),
        trigger_timestamp_ms=1_000,
        completed_timestamp_ms=1_020,
        is_savepoint=False,
        drained=False,
        graph={"slots": 1, "chains": [{"index": 0}], "max_parallelism": {UID: 128}},
        subtasks=(subtask,),
        assigners={OperatorUid("flights"): AssignerState((Split("s2", {"file": "b.txt"}),), 4, lists)},
        statistics=aggregate_statistics((subtask,), end_to_end_ms=20.0),
    )


@dataclass
class RunningJob:
    """A simulated job with one stateful operator. Tests call methods of this class, which write the job log, manifests and state
    files to ``storage``."""

    storage: CheckpointStorage
    generation: Generation = Generation(1)
    layout: JobLayout = field(default_factory=lambda: JobLayout(JOB))

    def __post_init__(self) -> None:
        self.log = JobLog(self.storage, self.layout)
        self.references = StateReferences(self.storage, self.layout)

    def append(self, entry: Entry) -> LogView:
        outcome = self.log.append(entry, at=self.log.read()[1])
        assert isinstance(outcome, Appended)
        return outcome.view

    def start(self, generation: int, restored_from: int | None = None) -> LogView:
        view, _ = self.log.read()
        self.generation = Generation(generation)
        restored = None if restored_from is None else CheckpointId(restored_from)
        branch = view.branch_after(restored, self.generation)
        return self.append(started(generation, restored_from=restored_from, branch=branch, first_checkpoint=view.next_checkpoint))

    def write_state(self, checkpoint: int, *, attempt: str = "a", data: bytes = b"state") -> StateFile:
        files = StateFiles(
            self.storage, self.layout, generation=self.generation, checkpoint=CheckpointId(checkpoint), attempt=attempt
        )
        content = (data, memoryview(b" of "), str(checkpoint).encode())
        file = files.writer(SubtaskId(0, 0)).put(UID, content, rows=3, key_groups=(0, 127))
        files.flush()
        return file

    def list_splits(self, checkpoint: int, *splits: Split) -> SplitList:
        files = StateFiles(
            self.storage, self.layout, generation=self.generation, checkpoint=CheckpointId(checkpoint), attempt="splits"
        )
        split_list = write_split_list(files, OperatorUid("flights"), splits)
        files.flush()
        return split_list

    def complete(
        self,
        checkpoint: int,
        *,
        also: tuple[StateFile, ...] = (),
        savepoint: bool = False,
        split_list: StateFile | None = None,
    ) -> StateFile:
        """Write the state file, the manifest and the log entry of a checkpoint, and return the state file.

        ``also`` lists files of earlier checkpoints. The manifest references these files and ``split_list``.
        """
        file = self.write_state(checkpoint)
        manifest = manifest_of(self.generation, checkpoint, (*also, file), split_list=split_list)
        written = write_manifest(self.storage, self.layout, manifest)
        self.append(
            CheckpointCompleted(
                self.generation,
                CheckpointId(checkpoint),
                written.path,
                written.checksum,
                file.bytes,
                nonce(),
                2_000,
                is_savepoint=savepoint,
            )
        )
        return file

    def paths(self) -> list[str]:
        """Return the paths of all objects except the log, relative to the job's directory."""
        found = (self.layout.relative(one.path) for one in self.storage.list(self.layout.root))
        return [path for path in found if not path.startswith("log/")]
