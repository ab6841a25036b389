"""Checks whether a graph can restore a checkpoint."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.unit.graph.graph_builders import counts, graph, operator, row_map, sink, source, without, word_count

from weir.errors import RestoreError
from weir.graph.compatibility import Compatibility, check_restorable
from weir.graph.compile import compile_graph
from weir.graph.logical import LogicalGraph, OperatorKind

FIXED = {"lines": 128, "split": 128, "count": 128, "out": 128}


def check(new: LogicalGraph, old: LogicalGraph | None = None, *, slots: int = 2, allow: bool = False) -> Compatibility:
    physical = compile_graph(new, slots=slots, fixed_max_parallelism=FIXED)
    return check_restorable(physical, checkpointed=old or word_count(), max_parallelism=FIXED, allow_non_restored_state=allow)


def test_a_graph_is_compatible_with_its_own_checkpoints_at_any_parallelism() -> None:
    assert check(word_count(), slots=2) == Compatibility((), (), ())
    assert check(word_count(), slots=5) == Compatibility((), (), ())


def test_stateless_operators_can_be_added_and_removed() -> None:
    changed = graph(source("lines"), row_map("a", "lines"), row_map("b", "a"), counts("count", "b", "word"), sink("out", "count"))
    assert check(changed) == Compatibility((), (), ())


def test_a_graph_that_lacks_a_stateful_operator_of_the_checkpoint_is_refused_unless_the_user_allows_it() -> None:
    renamed = graph(source("lines"), row_map("split", "lines"), counts("counts", "split", "word"), sink("out", "counts"))
    with pytest.raises(RestoreError, match=r"state of aggregate 'count' .* no longer has \(new in the graph: 'counts'\)"):
        check(renamed)
    result = check(renamed, allow=True)
    assert (result.dropped, result.fresh) == (("count",), ("counts",))
    assert result.notes == (
        "state of aggregate 'count' (at job.py:1) is not restored",
        (
            "aggregate 'counts' (at job.py:1) is not in the checkpoint and starts without state: its results contain only records "
            "after the checkpoint"
        ),
    )


def test_a_graph_without_a_sink_of_the_checkpoint_is_refused() -> None:
    logical = graph(source("lines"), sink("out", "lines"), sink("copy", "lines"))
    with pytest.raises(RestoreError, match="state of sink 'copy'"):
        check(without(logical, "copy"), logical)


def test_a_start_with_a_new_uid_for_a_changed_aggregate_reports_the_loss_of_the_old_state() -> None:
    def totals(uid: str) -> LogicalGraph:
        total = counts(uid, "split", "word", accumulator="sum", column="length")
        return graph(source("lines"), row_map("split", "lines"), total, sink("out", uid))

    with pytest.raises(
        RestoreError,
        match="Restore the old key and aggregates, or give aggregate 'count' a new uid and pass --allow-non-restored-state. "
        "With the new uid, the operator starts without state: its results contain only records after the checkpoint",
    ):
        check(totals("count"))
    with pytest.raises(RestoreError, match="--allow-non-restored-state"):
        check(totals("totals"))
    assert any("starts without state" in note for note in check(totals("totals"), allow=True).notes)


def test_a_changed_emit_mode_of_an_aggregate_is_noted() -> None:
    def emitting(mode: str | None) -> LogicalGraph:
        one = counts("count", "split", "word")
        config = {key: value for key, value in dict(one.config or {}).items() if key != "emit"}  # type: ignore[call-overload]  # it is a dict
        emit = replace(one, config=config | ({"emit": mode} if mode is not None else {}))
        return graph(source("lines"), row_map("split", "lines"), emit, sink("out", "count"))

    (note,) = check(emitting("batch"), emitting("each")).notes
    assert note == (
        "aggregate 'count' (at job.py:1) has emit='batch' now, but had emit='each' when the checkpoint was taken: the aggregate "
        "emits one update per key and batch from the checkpoint on"
    )
    (note,) = check(emitting("each"), emitting("batch")).notes
    assert note.endswith("the aggregate emits one update per record from the checkpoint on")
    assert check(emitting("each"), emitting(None)).notes == (), "a checkpoint of an older version contains no emit mode"


def test_changed_key_columns_are_refused() -> None:
    changed = graph(source("lines"), row_map("split", "lines"), counts("count", "split", "word", "length"), sink("out", "count"))
    with pytest.raises(
        RestoreError,
        match=r"aggregate 'count' .* is keyed by \(word, length\), but its state in the checkpoint is keyed by \(word\)",
    ):
        check(changed)


def test_changed_aggregates_are_refused() -> None:
    changed = graph(
        source("lines"),
        row_map("split", "lines"),
        counts("count", "split", "word", accumulator="sum", column="length"),
        sink("out", "count"),
    )
    with pytest.raises(RestoreError, match=r"computes n=sum\(length\), but its state in the checkpoint contains n=count\(\)"):
        check(changed)


@pytest.mark.parametrize(
    "schema", [pa.schema([("word", pa.int64()), ("length", pa.int64())]), pa.schema([("word", pa.date32())])]
)
def test_a_changed_type_of_a_key_column_is_refused(schema: pa.Schema) -> None:
    changed = graph(
        source("lines"), row_map("split", "lines", schema=schema), counts("count", "split", "word"), sink("out", "count")
    )
    with pytest.raises(RestoreError, match=r"column 'word' is now (int64|date32\[day\]), but was string"):
        check(changed)


def test_a_changed_type_of_an_unused_column_is_accepted() -> None:
    schema = pa.schema([("word", pa.string()), ("length", pa.float64())])
    changed = graph(
        source("lines"), row_map("split", "lines", schema=schema), counts("count", "split", "word"), sink("out", "count")
    )
    assert check(changed).notes == ()


def test_a_changed_type_of_an_aggregated_column_is_refused() -> None:
    def sums(schema: pa.Schema) -> LogicalGraph:
        total = counts("count", "split", "word", accumulator="sum", column="length")
        return graph(source("lines"), row_map("split", "lines", schema=schema), total, sink("out", "count"))

    old = sums(pa.schema([("word", pa.string()), ("length", pa.int64())]))
    with pytest.raises(RestoreError, match="column 'length' is now double, but was int64"):
        check(sums(pa.schema([("word", pa.string()), ("length", pa.float64())])), old)


def test_a_changed_connector_or_operator_kind_under_the_same_uid_is_refused() -> None:
    changed = graph(replace(source("lines"), config={"kind": "json_lines"}), sink("out", "lines"))
    with pytest.raises(RestoreError, match="source 'lines' .* is now of kind 'json_lines', but was 'text'"):
        check(changed, graph(source("lines"), sink("out", "lines")))
    with pytest.raises(RestoreError, match="source 'out' .* the operator with this uid in the checkpoint has kind sink"):
        check(
            graph(source("lines"), source("out"), operator("u", OperatorKind.UNION, "lines", "out"), sink("end", "u")),
            graph(source("lines"), sink("out", "lines")),
        )


def sink_to(directory: str | None, *, temporary: bool = False) -> LogicalGraph:
    settings = {} if directory is None else {"directory": directory}
    config = {"kind": "collect", "temporary": temporary, **settings}
    return graph(source("lines"), replace(sink("out", "lines"), config=config))


def test_the_error_for_a_changed_output_directory_names_the_old_and_the_new_directory() -> None:
    with pytest.raises(RestoreError, match="sink 'out' .* writes to /b, but wrote to /a when the checkpoint was taken"):
        check(sink_to("/b"), sink_to("/a"))
    with pytest.raises(RestoreError, match="but wrote to /a when the checkpoint was taken"):
        check(sink_to(None), sink_to("/a"))
    check(sink_to("/a"), sink_to("/a"))


def test_a_different_temporary_output_directory_is_accepted() -> None:
    check(sink_to("/tmp/2", temporary=True), sink_to("/tmp/1", temporary=True))


def test_a_note_recommends_a_uid_if_an_operator_is_restored_by_a_derived_uid() -> None:
    logical = graph(source("lines", derived=True), sink("out", "lines"))
    (note,) = check(logical, logical).notes
    assert "source 'lines' (at job.py:1) was found by a derived uid: give it uid='lines'" in note


def test_a_parallelism_above_the_number_of_key_groups_of_the_checkpoint_is_refused() -> None:
    physical = compile_graph(word_count(), slots=130)
    with pytest.raises(RestoreError, match="has parallelism 130, but its state has only 128 key groups"):
        check_restorable(physical, checkpointed=word_count(), max_parallelism=FIXED)


def test_a_graph_compiled_with_a_different_number_of_key_groups_is_refused() -> None:
    physical = compile_graph(word_count(), slots=2, fixed_max_parallelism={"count": 256})
    with pytest.raises(
        RestoreError, match="aggregate 'count' .* planned with max parallelism 256, but the checkpoint fixed it at 128"
    ):
        check_restorable(physical, checkpointed=word_count(), max_parallelism=FIXED)
