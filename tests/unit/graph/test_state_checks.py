"""Checks that a source whose uid is in the checkpoint still reads the same input. The splits of the checkpoint belong to the
old input. If a run accepted a changed input, the run would read the old splits and ignore the new input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.graph.graph_builders import graph, sink, source
from tests.unit.storage.storage_builders import manifest_of

from weir import sources
from weir.connectors.base import Source
from weir.connectors.spark.staged_dataframe import StagedDataFrame
from weir.errors import RestoreError
from weir.graph.compatibility import check_restorable, ended_sources, incomplete_sources
from weir.graph.compile import compile_graph
from weir.graph.logical import LogicalGraph
from weir.protocol.ids import OperatorUid
from weir.protocol.manifest import AssignerState, Manifest
from weir.protocol.snapshots import OperatorSnapshot, Split, SubtaskSnapshot, SubtaskStatistics

INTS = {"n": sources.ints(0, 9)}


def graph_of(one: Source) -> LogicalGraph:
    return graph(replace(source("in"), config=one.describe()), sink("out", "in"))


def check(after: Source, before: Source) -> None:
    check_restorable(compile_graph(graph_of(after), slots=1), checkpointed=graph_of(before), max_parallelism={})


@pytest.mark.parametrize(
    ("before", "after", "difference"),
    [
        (sources.text("/day1"), sources.text("/day2"), "paths /day2 instead of /day1"),
        (sources.text("/day1"), sources.text(["/day1", "/day2"]), "paths /day1, /day2 instead of /day1"),
        (sources.text("/a"), sources.text("/a", line_numbers=True), "line numbers True instead of False"),
        (sources.generator(INTS, seed=1), sources.generator(INTS, seed=2), "seed 2 instead of 1"),
        (sources.generator(INTS, rows=5), sources.generator(INTS, rows=9), "rows 9 instead of 5"),
        (sources.generator(INTS), sources.generator({"n": sources.ints(0, 99)}), "columns .* instead of"),
        (sources.iterable([{"n": 1}]), sources.iterable([{"n": 2}]), "its rows have changed"),
        (StagedDataFrame("/staged/1", "a"), StagedDataFrame("/staged/2", "a"), "directory /staged/2 instead of"),
        (StagedDataFrame("/staged/1", "a"), StagedDataFrame("/staged/1", "b"), "the columns or types of the query differ"),
    ],
)
def test_a_source_that_has_the_same_uid_but_another_input_is_refused(before: Source, after: Source, difference: str) -> None:
    with pytest.raises(
        RestoreError, match=rf"source 'in' \(at job.py:1\) reads an input that differs .*: {difference}"
    ) as caught:
        check(after, before)
    assert "give the source a new uid" in str(caught.value)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (sources.text("/a", rate=5), sources.text("/a")),
        (sources.text(["/a", "/b"]), sources.text(["/b", "/a"])),
        (sources.text("/a"), sources.text("/a", file_name=True)),
        (sources.generator(INTS, rate=5, splits=2), sources.generator(INTS, rate=9, splits=4)),
        (sources.iterable([{"n": 1}], splits=1), sources.iterable(pa.table({"n": [1]}), splits=2, batch_rows=1)),
        (StagedDataFrame("/staged/1", "a", rate=5), StagedDataFrame("/staged/1", "a")),
    ],
)
def test_a_source_with_a_changed_rate_or_number_of_splits_is_accepted(before: Source, after: Source) -> None:
    check(after, before)


def test_a_source_that_reads_other_columns_of_the_same_input_is_accepted(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "x.parquet")
    check(sources.parquet(tmp_path), sources.parquet(tmp_path, columns=["a"]))


def test_file_order_is_refused_if_the_checkpoint_contains_splits_without_file_order() -> None:
    in_any_order = sources.text("/a")
    with pytest.raises(RestoreError, match=r"source 'in' \(at job.py:1\) has order='file', .* cut into splits") as caught:
        check(sources.text("/a", order="file"), in_any_order)
    assert "Remove order='file', or give the source a new uid" in str(caught.value)
    check(in_any_order, sources.text("/a", order="file"))
    check(sources.text("/a", order="file", rate=5), sources.text("/a", order="file"))


def test_file_order_is_refused_if_an_older_version_wrote_the_checkpoint() -> None:
    after, before = graph_of(sources.text("/a", order="file")), graph_of(sources.text("/a"))
    config = before.operator(OperatorUid("in")).config
    assert isinstance(config, dict)
    del config["order"]
    with pytest.raises(RestoreError, match="has order='file'"):
        check_restorable(compile_graph(after, slots=1), checkpointed=before, max_parallelism={})


FOLLOWED, BOUNDED = sources.text("/a", follow=True), sources.text("/a")


def notes(after: Source, before: Source, **manifest: frozenset[str]) -> tuple[str, ...]:
    graph, old = compile_graph(graph_of(after), slots=1), graph_of(before)
    return check_restorable(graph, checkpointed=old, max_parallelism={}, **manifest).notes


def test_a_source_can_stop_following_its_input() -> None:
    (note,) = notes(BOUNDED, FOLLOWED, ended=frozenset({"in"}), incomplete=frozenset({"in"}))
    assert "reads the files that exist when the job starts or recovers, and then ends" in note
    assert notes(sources.text("/a", follow=True, settle="1s"), FOLLOWED, ended=frozenset({"in"})) == ()


def test_a_source_can_begin_to_follow_its_input_only_if_it_has_not_ended_and_all_its_files_are_known() -> None:
    (note,) = notes(FOLLOWED, BOUNDED)
    assert "now follows its input" in note
    with pytest.raises(RestoreError, match="source 'in' .* cannot begin to follow .* had already reached the end .* new uid"):
        notes(FOLLOWED, BOUNDED, ended=frozenset({"in"}))
    with pytest.raises(RestoreError, match="an older version of Weir started to read the input"):
        notes(FOLLOWED, BOUNDED, incomplete=frozenset({"in"}))


def test_a_manifest_shows_which_sources_have_ended_or_were_enumerated_by_an_older_version() -> None:
    uid, split = OperatorUid("in"), Split("a", None, 3, 0)
    physical = compile_graph(graph_of(BOUNDED), slots=2)

    def of(*, ended: bool, finished: int) -> Manifest:
        taken = OperatorSnapshot(uid, 0, splits=(split,))
        subtasks = tuple(
            SubtaskSnapshot(0, index, (taken,)[index:], ended and index == 1, SubtaskStatistics()) for index in range(2)
        )
        return replace(
            manifest_of(1, 1, ()), subtasks=subtasks, assigners={uid: AssignerState((Split("b", None, 1, 1),), finished, next=5)}
        )

    assert incomplete_sources(of(ended=False, finished=3)) == frozenset()
    assert incomplete_sources(of(ended=False, finished=4)) == {uid}
    assert ended_sources(of(ended=False, finished=3), physical) == frozenset()
    assert ended_sources(of(ended=True, finished=3), physical) == {uid}
