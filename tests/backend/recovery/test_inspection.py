"""The inspection of a checkpoint for a plan, with real job logs, manifests, state files and compiled graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.graph.graph_builders import counts, graph, operator, row_map, sink, source, word_count
from tests.unit.storage.storage_builders import RunningJob, manifest_of, nonce

from weir.graph.compile import compile_graph
from weir.graph.logical import LogicalGraph, OperatorKind
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, OperatorUid
from weir.protocol.job_log import CheckpointCompleted
from weir.protocol.manifest import AssignerState
from weir.protocol.snapshots import Committable, OperatorSnapshot, Split, StateFile
from weir.storage.layout import JobLayout
from weir.storage.local import LocalStorage
from weir.storage.manifests import write_manifest
from weir_backend.recovery.schemas import PlanInspection
from weir_workers.checkpoints.compatibility import Version
from weir_workers.checkpoints.inspection import InspectionRequest, inspect_storage, newest_of

JOB = "words"
OTHER_KEY = graph(
    source("lines"), row_map("split", "lines"), counts("count", "split", "word", "length"), sink("out", "count")
)  # fmt: skip


def version(logical: LogicalGraph, *, parallelism: int = 2, allow: bool = False) -> Version:
    made: Any = codec.to_json(compile_graph(logical, slots=parallelism))
    return Version(made, parallelism, allow)


@dataclass
class Words(RunningJob):
    """A run that writes checkpoints with the state of the graph ``logical``."""

    logical: LogicalGraph = word_count()
    staged_rows: dict[int, int] = field(default_factory=dict)
    """Maps an epoch to its number of rows. The console writer stages these rows in the next checkpoint."""
    published_up_to: int = 0
    ended: bool = False

    def complete(self, checkpoint: int, *, also: tuple[StateFile, ...] = (), savepoint: bool = False) -> StateFile:
        file = self.write_state(checkpoint)
        made = manifest_of(self.generation, checkpoint, (file,), job=self.layout.job)
        (subtask,) = made.subtasks
        reading = OperatorSnapshot(OperatorUid("lines"), 0, splits=(Split("a.txt", {}, 100 * checkpoint),))
        epochs = tuple(
            Committable(JOB, OperatorUid("out"), self.generation, CheckpointId(epoch), 0, {"lines": [], "rows": rows})
            for epoch, rows in self.staged_rows.items()
        )
        writing = OperatorSnapshot(OperatorUid("out"), 0, committables=epochs)
        made = replace(
            made,
            assigners={OperatorUid("lines"): AssignerState((), checkpoint - 1, next=checkpoint)},
            graph=codec.to_json(compile_graph(self.logical, slots=2)),
            subtasks=(replace(subtask, operators=(*subtask.operators, reading, writing), ended=self.ended),),
            published_up_to=CheckpointId(self.published_up_to),
        )
        written = write_manifest(self.storage, self.layout, made)
        self.append(
            CheckpointCompleted(
                self.generation, CheckpointId(checkpoint), written.path, written.checksum, 9, nonce(), 2_000, is_savepoint=savepoint
            )
        )  # fmt: skip
        return file


CreateJob = Callable[..., Words]


@pytest.fixture
def create_job(tmp_path: Path) -> CreateJob:
    def made(directory: str, *, job: str = JOB, checkpoints: int = 3, logical: LogicalGraph | None = None) -> Words:
        found = Words(LocalStorage(tmp_path / directory), layout=JobLayout(job), logical=logical or word_count())
        found.start(1)
        for number in range(1, checkpoints + 1):
            found.complete(number)
        return found

    return made


@pytest.fixture
def upgrade(tmp_path: Path) -> InspectionRequest:
    """The request for an upgrade to the running version."""
    return InspectionRequest(
        directory=str(tmp_path / "own"), wanted=version(word_count()), checkpoint=None, without_state=False, path=None, checkpoint_at_path=None,
        allowed=(str(tmp_path / "allowed"),),
    )  # fmt: skip


def is_applicable(found: PlanInspection) -> bool:
    return found.intact and found.incompatibility is None


def test_the_inspection_of_a_rollback_lists_abandoned_checkpoints_and_source_positions(
    create_job: CreateJob, upgrade: InspectionRequest
) -> None:
    create_job("own")
    found = inspect_storage(replace(upgrade, checkpoint=1))
    assert is_applicable(found) and found.files == 1 and found.abandoned == [2, 3] and found.reinstated == []
    (position,) = found.sources
    assert position.source == "lines" and position.splits == [{"id": "a.txt", "payload": {}, "position": 100}]
    assert [(one.sink, one.revocable) for one in found.sinks] == [("out", True)]


def printing_graph() -> LogicalGraph:
    return graph(source("lines"), operator("out", OperatorKind.SINK, "lines", config={"kind": "console", "rows": 20}))


def test_the_number_of_repeated_records_is_shown_for_a_sink_that_is_not_revocable(
    create_job: CreateJob, upgrade: InspectionRequest, tmp_path: Path
) -> None:
    own = create_job("own", checkpoints=0, logical=printing_graph())
    for number in range(1, 5):
        # At checkpoint 3, the writer has not been notified yet that checkpoint 2 is completed, so it stages epoch 2 again.
        own.staged_rows = {2: 10, 3: 100} if number == 3 else {number: 10 ** (number - 1)}
        own.published_up_to = number - 1
        own.complete(number)
    upgrade = replace(upgrade, wanted=version(printing_graph()))
    found = inspect_storage(replace(upgrade, checkpoint=2))
    assert found is not None and (found.abandoned, found.recommitted) == ([3, 4], [2])
    assert [(one.kind, one.revocable, one.records) for one in found.sinks] == [("console", False, 1_110)]
    without_state = inspect_storage(replace(upgrade, without_state=True))
    assert without_state is not None and (without_state.recommitted, without_state.sinks[0].records) == ([], 1_111)

    (tmp_path / "own" / JobLayout(JOB).checkpoints / "4" / "manifest-g1.json").write_bytes(b"{}")
    found = inspect_storage(replace(upgrade, checkpoint=2))
    assert found is not None and is_applicable(found) and found.sinks[0].records is None, (
        "a damaged checkpoint does not prevent a rollback to an older checkpoint"
    )


def test_the_newest_or_the_given_checkpoint_of_another_directory_is_restored(
    create_job: CreateJob, upgrade: InspectionRequest, tmp_path: Path
) -> None:
    create_job("own")
    create_job("allowed/other", job="other words", checkpoints=5)
    restore = replace(upgrade, path=str(tmp_path / "allowed" / "other"))
    for number, wanted in ((None, 5), (2, 2)):
        found = inspect_storage(replace(restore, checkpoint_at_path=number))
        assert is_applicable(found), found.damage or found.incompatibility
        assert found.external_checkpoint is not None and (
            found.external_checkpoint.job,
            found.external_checkpoint.checkpoint,
        ) == ("other words", wanted)
        assert found.abandoned == [1, 2, 3], "all checkpoints of the job are abandoned"
        assert found.sources[0].splits == [{"id": "a.txt", "payload": {}, "position": 100 * wanted}]
    own = inspect_storage(replace(restore, path=str(tmp_path / "allowed" / "other" / JobLayout("other words").root.rstrip("/"))))
    assert own.external_checkpoint is not None and own.external_checkpoint.checkpoint == 5


def test_a_job_that_has_never_run_abandons_no_checkpoints(
    create_job: CreateJob, upgrade: InspectionRequest, tmp_path: Path
) -> None:
    create_job("allowed")
    found = inspect_storage(replace(upgrade, path=str(tmp_path / "allowed")))
    assert is_applicable(found) and found.abandoned == []


def test_a_path_outside_the_allowed_locations_is_not_read(
    create_job: CreateJob, upgrade: InspectionRequest, tmp_path: Path
) -> None:
    create_job("secret")
    (tmp_path / "allowed").mkdir()
    (tmp_path / "allowed" / "way-out").symlink_to(tmp_path / "secret")
    for path, why in (
        ("secret", "is not below a location that this installation allows"),
        ("allowed/way-out", "is a link to a location"),
    ):
        found = inspect_storage(replace(upgrade, path=str(tmp_path / path)))
        assert not found.intact and found.damage is not None and why in found.damage
        assert found.external_checkpoint is None and found.sources == []


def test_an_allowed_location_can_be_a_symbolic_link(create_job: CreateJob, upgrade: InspectionRequest, tmp_path: Path) -> None:
    create_job("mounted/words")
    (tmp_path / "allowed").symlink_to(tmp_path / "mounted")
    assert is_applicable(inspect_storage(replace(upgrade, path=str(tmp_path / "allowed" / "words"))))


def test_the_error_names_damaged_or_missing_files_of_another_directory(
    create_job: CreateJob, upgrade: InspectionRequest, tmp_path: Path
) -> None:
    other = create_job("allowed/other")
    file = other.complete(4)
    path = tmp_path / "allowed" / "other" / other.layout.absolute(file.path)
    path.write_bytes(b"X" + path.read_bytes()[1:])
    restore = replace(upgrade, path=str(tmp_path / "allowed" / "other"))
    found = inspect_storage(restore)
    assert not found.intact and found.damage is not None and file.path in found.damage and "is damaged" in found.damage
    missing = inspect_storage(replace(restore, checkpoint_at_path=9))
    assert not missing.intact and missing.damage is not None and "checkpoint 9 does not exist" in missing.damage
    nowhere = inspect_storage(replace(upgrade, path=str(tmp_path / "allowed" / "nowhere")))
    assert nowhere.damage is not None and "contains no job" in nowhere.damage


def test_a_directory_with_a_malicious_log_entry_counts_as_damaged(upgrade: InspectionRequest, tmp_path: Path) -> None:
    log = tmp_path / "allowed" / "evil" / "log"
    log.mkdir(parents=True)
    for content in (b"", b"[" * 100_000, b"\x80\x04K\x01.", b'{"format": 1, "entry": "CheckpointCompleted"}'):
        (log / "00000001.json").write_bytes(content)
        found = inspect_storage(replace(upgrade, path=str(tmp_path / "allowed" / "evil")))
        assert not found.intact and found.damage, content[:20]


def test_a_start_without_state_abandons_all_checkpoints(create_job: CreateJob, upgrade: InspectionRequest) -> None:
    create_job("own")
    found = inspect_storage(replace(upgrade, without_state=True, wanted=version(OTHER_KEY)))
    assert is_applicable(found) and found.abandoned == [1, 2, 3] and found.sources == [], (
        "a start without state is compatible with every graph"
    )


@pytest.mark.parametrize("kind", ["upgrade", "rollback", "restore"])
def test_the_inspection_names_state_that_is_not_compatible_with_the_graph(
    create_job: CreateJob, upgrade: InspectionRequest, tmp_path: Path, kind: str
) -> None:
    create_job("own")
    create_job("allowed/other")
    chosen = {
        "upgrade": upgrade,
        "rollback": replace(upgrade, checkpoint=2),
        "restore": replace(upgrade, path=str(tmp_path / "allowed" / "other")),
    }[kind]
    wanted = replace(chosen, wanted=version(OTHER_KEY), maker=None if kind == "restore" else version(word_count()))
    found = inspect_storage(wanted)
    assert (
        found.intact
        and found.incompatibility is not None
        and "aggregate 'count'" in found.incompatibility
        and "is keyed by (word, length)" in found.incompatibility
    )
    renamed = graph(source("lines"), row_map("split", "lines"), counts("sums", "split", "word"), sink("out", "sums"))
    lost = inspect_storage(replace(chosen, wanted=version(renamed), maker=version(word_count())))
    assert (
        lost.incompatibility is not None
        and "'count'" in lost.incompatibility
        and "new in the graph: 'sums'" in lost.incompatibility
    )
    allowed = inspect_storage(replace(chosen, wanted=version(renamed, allow=True), maker=version(word_count())))
    assert is_applicable(allowed) and any("is not restored" in note for note in allowed.notes)


def test_a_rescale_is_compatible_only_up_to_the_number_of_key_groups(create_job: CreateJob, upgrade: InspectionRequest) -> None:
    few = graph(
        source("lines"), row_map("split", "lines"), counts("count", "split", "word", max_parallelism=4), sink("out", "count")
    )  # fmt: skip
    create_job("own", logical=few)
    assert is_applicable(inspect_storage(replace(upgrade, wanted=version(few, parallelism=4))))
    unlimited = version(word_count(), parallelism=8)
    found = inspect_storage(replace(upgrade, wanted=unlimited, maker=version(few)))
    assert found.incompatibility is not None and "aggregate 'count'" in found.incompatibility


def test_a_failed_check_yields_only_a_note_if_it_also_fails_for_the_version_that_wrote_the_state(
    create_job: CreateJob, upgrade: InspectionRequest
) -> None:
    at_home = graph(
        operator("lines", OperatorKind.SOURCE, config={"kind": "text", "paths": ["/home/driver/in"]}), sink("out", "lines")
    )
    compiled = graph(
        operator("lines", OperatorKind.SOURCE, config={"kind": "text", "paths": ["/tmp/worker/in"]}), sink("out", "lines")
    )
    create_job("own", logical=at_home)
    found = inspect_storage(replace(upgrade, wanted=version(compiled), maker=version(compiled)))
    assert is_applicable(found) and any("cannot be checked in advance" in note and "'lines'" in note for note in found.notes)
    assert inspect_storage(replace(upgrade, wanted=version(compiled), maker=version(at_home))).incompatibility is not None


def test_a_plan_says_that_a_followed_source_reads_later_files_again_and_refuses_to_follow_after_the_end(
    create_job: CreateJob, upgrade: InspectionRequest
) -> None:
    text = {"kind": "text", "paths": ["/in"]}
    bounded = graph(operator("lines", OperatorKind.SOURCE, config=text), sink("out", "lines"))
    followed = graph(
        operator("lines", OperatorKind.SOURCE, config=text | {"follow": {"discover_every_ms": 1, "settle_ms": 1}}),
        sink("out", "lines"),
    )
    job = create_job("own", logical=followed)
    found = inspect_storage(replace(upgrade, wanted=version(followed)))
    assert is_applicable(found) and any(
        "reads the files again that it found after this checkpoint" in note for note in found.notes
    )
    job.logical = bounded
    job.complete(4)
    assert is_applicable(inspect_storage(replace(upgrade, wanted=version(followed))))
    job.ended = True
    job.complete(5)
    refused = inspect_storage(replace(upgrade, wanted=version(followed), maker=version(bounded)))
    assert refused.incompatibility is not None and "had already reached the end of its input" in refused.incompatibility


def test_a_spark_query_is_compatible_with_its_staged_rows(
    create_job: CreateJob, upgrade: InspectionRequest, tmp_path: Path
) -> None:
    rows = {"kind": "dataframe", "directory": "/data/staged/1", "schema_ipc": "x"}
    staged = graph(operator("lines", OperatorKind.SOURCE, config=rows), sink("out", "lines"))
    query = graph(operator("lines", OperatorKind.SOURCE, config={"kind": "spark_query"}), sink("out", "lines"))
    create_job("own", logical=staged)
    found = inspect_storage(replace(upgrade, wanted=version(query)))
    assert is_applicable(found) and found.notes == []
    create_job("allowed/other", logical=staged)
    refused = inspect_storage(replace(upgrade, wanted=version(query), path=str(tmp_path / "allowed" / "other")))
    assert not refused.intact and refused.damage is not None and "staged rows of a Spark query" in refused.damage


def test_an_upgrade_is_possible_without_checkpoints_or_without_a_readable_job_log(
    create_job: CreateJob, upgrade: InspectionRequest, tmp_path: Path
) -> None:
    assert is_applicable(inspect_storage(upgrade)) and newest_of(upgrade) is None
    create_job("own")
    assert newest_of(upgrade) == 3 and newest_of(replace(upgrade, without_state=True)) is None
    (tmp_path / "own" / JOB / "log" / "00000001.json").write_bytes(b"{}")
    found = inspect_storage(upgrade)
    assert is_applicable(found) and "state is unknown" in found.notes[0]
