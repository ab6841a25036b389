"""What a worker finds in storage for a plan: real logs, manifests and state files, graphs that were really compiled."""

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
    """Of the job whose graph is ``logical``, in a directory."""

    logical: LogicalGraph = word_count()
    hands_on: dict[int, int] = field(default_factory=dict)
    """Of the next checkpoint: records by the epoch that they belong to, as a console's writer says it."""
    published_up_to: int = 0

    def complete(self, checkpoint: int, *, also: tuple[StateFile, ...] = (), savepoint: bool = False) -> StateFile:
        file = self.write_state(checkpoint)
        made = manifest_of(self.generation, checkpoint, (file,), job=self.layout.job)
        (subtask,) = made.subtasks
        reading = OperatorSnapshot(OperatorUid("lines"), 0, splits=(Split("a.txt", {}, 100 * checkpoint),))
        epochs = tuple(
            Committable(JOB, OperatorUid("out"), self.generation, CheckpointId(epoch), 0, {"lines": [], "rows": rows})
            for epoch, rows in self.hands_on.items()
        )
        writing = OperatorSnapshot(OperatorUid("out"), 0, committables=epochs)
        made = replace(
            made,
            graph=codec.to_json(compile_graph(self.logical, slots=2)),
            subtasks=(replace(subtask, operators=(*subtask.operators, reading, writing)),),
            published_up_to=CheckpointId(self.published_up_to),
        )
        written = write_manifest(self.storage, self.layout, made)
        self.append(
            CheckpointCompleted(
                self.generation, CheckpointId(checkpoint), written.path, written.checksum, 9, nonce(), 2_000, is_savepoint=savepoint
            )
        )  # fmt: skip
        return file


Make = Callable[..., Words]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(directory: str, *, job: str = JOB, checkpoints: int = 3, logical: LogicalGraph | None = None) -> Words:
        found = Words(LocalStorage(tmp_path / directory), layout=JobLayout(job), logical=logical or word_count())
        found.start(1)
        for number in range(1, checkpoints + 1):
            found.complete(number)
        return found

    return made


@pytest.fixture
def subject(tmp_path: Path) -> InspectionRequest:
    """Of an upgrade to the version that runs."""
    return InspectionRequest(
        directory=str(tmp_path / "ours"), wanted=version(word_count()), checkpoint=None, without_state=False, path=None, checkpoint_at_path=None,
        allowed=(str(tmp_path / "allowed"),),
    )  # fmt: skip


def would_work(found: PlanInspection) -> bool:
    return found.intact and found.incompatibility is None


def test_going_back_it_says_what_is_left_behind_and_from_where_is_read_again(make: Make, subject: InspectionRequest) -> None:
    make("ours")
    found = inspect_storage(replace(subject, checkpoint=1))
    assert would_work(found) and found.files == 1 and found.abandoned == [2, 3] and found.reinstated == []
    (again,) = found.sources
    assert again.source == "lines" and again.splits == [{"id": "a.txt", "payload": {}, "position": 100}]
    assert [(one.sink, one.revocable) for one in found.sinks] == [("out", True)]


def printing() -> LogicalGraph:
    return graph(source("lines"), operator("out", OperatorKind.SINK, "lines", config={"kind": "console", "rows": 20}))


def test_of_a_sink_that_takes_nothing_back_it_says_which_records_are_handed_on_twice_and_how_many(
    make: Make, subject: InspectionRequest, tmp_path: Path
) -> None:
    ours = make("ours", checkpoints=0, logical=printing())
    for number in range(1, 5):
        # The writer of the third has not heard yet that the second was completed, so it names that, too.
        ours.hands_on = {2: 10, 3: 100} if number == 3 else {number: 10 ** (number - 1)}
        ours.published_up_to = number - 1
        ours.complete(number)
    subject = replace(subject, wanted=version(printing()))
    found = inspect_storage(replace(subject, checkpoint=2))
    assert found is not None and (found.abandoned, found.recommitted) == ([3, 4], [2])
    assert [(one.kind, one.revocable, one.records) for one in found.sinks] == [("console", False, 1_110)]
    without_state = inspect_storage(replace(subject, without_state=True))
    assert without_state is not None and (without_state.recommitted, without_state.sinks[0].records) == ([], 1_111)

    (tmp_path / "ours" / JobLayout(JOB).checkpoints / "4" / "manifest-g1.json").write_bytes(b"{}")
    found = inspect_storage(replace(subject, checkpoint=2))
    assert found is not None and would_work(found) and found.sinks[0].records is None, "going back behind it is the way out"


def test_a_checkpoint_elsewhere_is_the_newest_there_or_the_one_that_is_named(
    make: Make, subject: InspectionRequest, tmp_path: Path
) -> None:
    make("ours")
    make("allowed/theirs", job="other words", checkpoints=5)
    restore = replace(subject, path=str(tmp_path / "allowed" / "theirs"))
    for number, wanted in ((None, 5), (2, 2)):
        found = inspect_storage(replace(restore, checkpoint_at_path=number))
        assert would_work(found), found.damage or found.incompatibility
        assert found.external_checkpoint is not None and (
            found.external_checkpoint.job,
            found.external_checkpoint.checkpoint,
        ) == ("other words", wanted)
        assert found.abandoned == [1, 2, 3], "all that the job has itself"
        assert found.sources[0].splits == [{"id": "a.txt", "payload": {}, "position": 100 * wanted}]
    own = inspect_storage(replace(restore, path=str(tmp_path / "allowed" / "theirs" / JobLayout("other words").root.rstrip("/"))))
    assert own.external_checkpoint is not None and own.external_checkpoint.checkpoint == 5


def test_of_a_job_that_has_never_run_nothing_is_left_behind(make: Make, subject: InspectionRequest, tmp_path: Path) -> None:
    make("allowed")
    found = inspect_storage(replace(subject, path=str(tmp_path / "allowed")))
    assert would_work(found) and found.abandoned == []


def test_what_leads_out_of_the_places_allowed_is_not_looked_into(make: Make, subject: InspectionRequest, tmp_path: Path) -> None:
    make("secret")
    (tmp_path / "allowed").mkdir()
    (tmp_path / "allowed" / "way-out").symlink_to(tmp_path / "secret")
    for path, why in (
        ("secret", "is not below a location that this installation allows"),
        ("allowed/way-out", "is a link to a location"),
    ):
        found = inspect_storage(replace(subject, path=str(tmp_path / path)))
        assert not found.intact and found.damage is not None and why in found.damage
        assert found.external_checkpoint is None and found.sources == []


def test_a_place_that_is_a_link_itself_is_allowed_as_a_whole(make: Make, subject: InspectionRequest, tmp_path: Path) -> None:
    make("mounted/words")
    (tmp_path / "allowed").symlink_to(tmp_path / "mounted")
    assert would_work(inspect_storage(replace(subject, path=str(tmp_path / "allowed" / "words"))))


def test_what_is_damaged_or_missing_elsewhere_is_named(make: Make, subject: InspectionRequest, tmp_path: Path) -> None:
    theirs = make("allowed/theirs")
    file = theirs.complete(4)
    path = tmp_path / "allowed" / "theirs" / theirs.layout.absolute(file.path)
    path.write_bytes(b"X" + path.read_bytes()[1:])
    restore = replace(subject, path=str(tmp_path / "allowed" / "theirs"))
    found = inspect_storage(restore)
    assert not found.intact and found.damage is not None and file.path in found.damage and "is damaged" in found.damage
    missing = inspect_storage(replace(restore, checkpoint_at_path=9))
    assert not missing.intact and missing.damage is not None and "checkpoint 9 does not exist" in missing.damage
    nowhere = inspect_storage(replace(subject, path=str(tmp_path / "allowed" / "nowhere")))
    assert nowhere.damage is not None and "contains no job" in nowhere.damage


def test_a_directory_of_somebody_who_means_harm_is_refused_and_not_more(subject: InspectionRequest, tmp_path: Path) -> None:
    log = tmp_path / "allowed" / "evil" / "log"
    log.mkdir(parents=True)
    for content in (b"", b"[" * 100_000, b"\x80\x04K\x01.", b'{"format": 1, "entry": "CheckpointCompleted"}'):
        (log / "00000001.json").write_bytes(content)
        found = inspect_storage(replace(subject, path=str(tmp_path / "allowed" / "evil")))
        assert not found.intact and found.damage, content[:20]


def test_to_begin_anew_leaves_behind_whatever_there_is(make: Make, subject: InspectionRequest) -> None:
    make("ours")
    found = inspect_storage(replace(subject, without_state=True, wanted=version(OTHER_KEY)))
    assert would_work(found) and found.abandoned == [1, 2, 3] and found.sources == [], "there is no state that could not fit"


@pytest.mark.parametrize("how", ["upgrade", "rollback", "restore"])
def test_state_that_the_graph_cannot_go_on_with_is_named(
    make: Make, subject: InspectionRequest, tmp_path: Path, how: str
) -> None:
    make("ours")
    make("allowed/theirs")
    chosen = {
        "upgrade": subject,
        "rollback": replace(subject, checkpoint=2),
        "restore": replace(subject, path=str(tmp_path / "allowed" / "theirs")),
    }[how]
    wanted = replace(chosen, wanted=version(OTHER_KEY), maker=None if how == "restore" else version(word_count()))
    found = inspect_storage(wanted)
    assert (
        found.intact
        and found.incompatibility is not None
        and "aggregate 'count'" in found.incompatibility
        and "is keyed by word, length" in found.incompatibility
    )
    renamed = graph(source("lines"), row_map("split", "lines"), counts("sums", "split", "word"), sink("out", "sums"))
    lost = inspect_storage(replace(chosen, wanted=version(renamed), maker=version(word_count())))
    assert (
        lost.incompatibility is not None and "'count'" in lost.incompatibility and "new in it is 'sums'" in lost.incompatibility
    )
    allowed = inspect_storage(replace(chosen, wanted=version(renamed, allow=True), maker=version(word_count())))
    assert would_work(allowed) and any("is left behind" in note for note in allowed.notes)


def test_a_rescale_beyond_the_key_groups_is_named_and_one_within_them_fits(make: Make, subject: InspectionRequest) -> None:
    few = graph(
        source("lines"), row_map("split", "lines"), counts("count", "split", "word", max_parallelism=4), sink("out", "count")
    )  # fmt: skip
    make("ours", logical=few)
    assert would_work(inspect_storage(replace(subject, wanted=version(few, parallelism=4))))
    unlimited = version(word_count(), parallelism=8)
    found = inspect_storage(replace(subject, wanted=unlimited, maker=version(few)))
    assert found.incompatibility is not None and "aggregate 'count'" in found.incompatibility


def test_where_even_the_version_that_made_it_seems_not_to_fit_nobody_is_held_up(make: Make, subject: InspectionRequest) -> None:
    at_home = graph(
        operator("lines", OperatorKind.SOURCE, config={"kind": "text", "paths": ["/home/driver/in"]}), sink("out", "lines")
    )
    compiled = graph(
        operator("lines", OperatorKind.SOURCE, config={"kind": "text", "paths": ["/tmp/worker/in"]}), sink("out", "lines")
    )
    make("ours", logical=at_home)
    found = inspect_storage(replace(subject, wanted=version(compiled), maker=version(compiled)))
    assert would_work(found) and any("cannot be checked in advance" in note and "'lines'" in note for note in found.notes)
    assert inspect_storage(replace(subject, wanted=version(compiled), maker=version(at_home))).incompatibility is not None


def test_a_spark_query_is_taken_for_the_rows_that_its_driver_has_staged(
    make: Make, subject: InspectionRequest, tmp_path: Path
) -> None:
    rows = {"kind": "dataframe", "directory": "/data/staged/1", "schema_ipc": "x"}
    staged = graph(operator("lines", OperatorKind.SOURCE, config=rows), sink("out", "lines"))
    query = graph(operator("lines", OperatorKind.SOURCE, config={"kind": "spark_query"}), sink("out", "lines"))
    make("ours", logical=staged)
    found = inspect_storage(replace(subject, wanted=version(query)))
    assert would_work(found) and found.notes == []
    make("allowed/theirs", logical=staged)
    refused = inspect_storage(replace(subject, wanted=version(query), path=str(tmp_path / "allowed" / "theirs")))
    assert not refused.intact and refused.damage is not None and "staged rows of a Spark query" in refused.damage


def test_an_upgrade_of_a_job_without_checkpoints_or_out_of_reach_is_not_held_up(
    make: Make, subject: InspectionRequest, tmp_path: Path
) -> None:
    assert would_work(inspect_storage(subject)) and newest_of(subject) is None
    make("ours")
    assert newest_of(subject) == 3 and newest_of(replace(subject, without_state=True)) is None
    (tmp_path / "ours" / JOB / "log" / "00000001.json").write_bytes(b"{}")
    found = inspect_storage(subject)
    assert would_work(found) and "the compatibility of its state is unknown" in found.notes[0]
