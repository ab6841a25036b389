"""Whether an operator can restore its state from a checkpoint: the checks of sources, sinks and aggregates.

A bounded source enumerates its splits only when the job first starts. Without these checks, a source with the same uid could read
another input after a restore. The job would then end early, or continue at a meaningless position of the new input.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from weir.errors import RestoreError
from weir.graph.logical import LogicalGraph, LogicalOperator, OperatorKind
from weir.protocol.snapshots import JsonValue

Config: TypeAlias = Mapping[str, JsonValue]

INPUT_FIELDS: Mapping[str, tuple[str, ...]] = {
    "text": ("paths", "line_numbers"),
    "json_lines": ("paths",),
    "parquet": ("paths",),
    "dataframe": ("directory", "schema_ipc"),
    "generator": ("columns", "rows", "seed"),
    "iterable": ("data",),
}
"""For each kind of source, the fields that identify the input and define what a position in the input means.

Other fields may change: the rate, the split size (which only affects new splits), and the columns read from a file.
"""
_TEXT_CHARACTERS_MAX = 120


@dataclass(frozen=True, slots=True)
class OperatorInGraph:
    operator: LogicalOperator
    graph: LogicalGraph

    @property
    def config(self) -> Config:
        return config_of(self.operator)


StateCheck: TypeAlias = Callable[[OperatorInGraph, OperatorInGraph], tuple[str, ...]]
"""Compares an operator in the checkpoint's graph with the same operator (uid and kind) in the new graph. Returns notes for the
user. Raises RestoreError."""
_UPDATES = {"each": "one update per record", "batch": "one update per key and batch"}


def config_of(operator: LogicalOperator) -> Config:
    return operator.config if isinstance(operator.config, dict) else {}


def accept(old: OperatorInGraph, new: OperatorInGraph) -> tuple[str, ...]:
    """Accept every operator of the same kind."""
    return ()


def starts_without_state(operator: LogicalOperator) -> str:
    """Return the predicate of a sentence about an operator that is not in the checkpoint, such as "starts without state"."""
    only = ": its results contain only records after the checkpoint" if operator.kind is OperatorKind.AGGREGATE else ""
    return f"starts without state{only}"


def incompatible(operator: LogicalOperator, *, restore: str) -> str:
    """Return the advice for an operator that cannot restore its state. ``restore`` names the property of the graph that the user
    can change back, such as "the old kind"."""
    return (
        f"Restore {restore}, or give {operator.kind} {operator.uid!r} a new uid and pass --allow-non-restored-state. "
        f"With the new uid, the operator {starts_without_state(operator)}"
    )


def check_source(old: OperatorInGraph, new: OperatorInGraph) -> tuple[str, ...]:
    """Require the same connector and the same input.

    A source can stop following its input, and can begin to follow it (see also ``check_follow``).

    Ignore a field that only one graph has, because the version of Weir that wrote the other graph does not know this field. But
    refuse ``order`` "file" in the new graph if the old graph has another order or no order. The checkpoint can then contain files
    that are divided into several splits.
    """
    _check_connector(old, new)
    for field in INPUT_FIELDS.get(str(new.config.get("kind")), ()):
        if field in old.config and field in new.config and not _equal(field, old.config[field], new.config[field]):
            raise RestoreError(
                f"{new.operator.label} reads an input that differs from the checkpoint's: "
                f"{_difference(field, old.config[field], new.config[field])}. The positions in the checkpoint do not "
                "apply to the new input. Change the source back to the old input, or give the source a new uid to read the new input "
                "from the beginning (and drop the old positions with --allow-non-restored-state)"
            )
    if new.config.get("order") == "file" and old.config.get("order") != "file":
        raise RestoreError(
            f"{new.operator.label} has order='file', but it had order='any' when the checkpoint was taken, so files can be cut into "
            "splits that several subtasks read. Remove order='file', or give the source a new uid to read the input "
            "from the beginning (and drop the old positions with --allow-non-restored-state)"
        )
    if follows(old.operator) and not follows(new.operator):
        ends = "it reads the files that exist when the job starts or recovers, and then ends"
        return (f"{new.operator.label} no longer follows its input: {ends}",)
    if follows(new.operator) and not follows(old.operator):
        return (f"{new.operator.label} now follows its input: it also reads files that are added from now on",)
    return ()


def follows(source: LogicalOperator) -> bool:
    """Return whether the source reads files that are added while the job runs."""
    return config_of(source).get("follow") is not None


def check_follow(new: LogicalOperator, *, ended: bool, complete: bool) -> None:
    """Check whether a source that did not follow its input before the checkpoint can follow it now.

    ``ended``: the source had ended in a subtask, so the operators after it have processed the end of the input. ``complete``: the
    checkpoint names all files that the source has read. Checkpoints of older versions of Weir do not. Raises RestoreError.
    """
    if ended:
        reason = "the source had already reached the end of its input"
    elif not complete:
        reason = "an older version of Weir started to read the input, and the checkpoint does not name all files that were read"
    else:
        return
    raise RestoreError(
        f"{new.label} cannot begin to follow its input from this checkpoint: {reason}. Remove follow=True, restore a checkpoint in "
        "which the source followed its input, or give the source a new uid to read all files again (and drop the old positions with "
        "--allow-non-restored-state)"
    )


def check_sink(old: OperatorInGraph, new: OperatorInGraph) -> tuple[str, ...]:
    """Require the same connector and directory, because a sink commits and revokes output in the directory where the
    output was written.
    """
    _check_connector(old, new)
    if old.config.get("temporary") or new.config.get("temporary"):
        return ()  # The directory belongs to one process, and no other process can find it.
    if "directory" in old.config and old.config["directory"] != new.config.get("directory"):
        raise RestoreError(
            f"{new.operator.label} writes to {new.config.get('directory')}, but wrote to {old.config['directory']} when "
            "the checkpoint was taken. With the new directory, the job would not be able to commit or revoke the output in the "
            f"old directory. Change the directory of the sink back to {old.config['directory']}, or give the sink a new uid "
            "(its old output stays, and --allow-non-restored-state drops its state)"
        )
    return ()


def check_aggregate(old: OperatorInGraph, new: OperatorInGraph) -> tuple[str, ...]:
    """Require the same key, the same aggregates, and the same types of all columns from which the state is computed.

    Accept another emit mode, because it changes only the output.
    """
    label = new.operator.label
    advice = incompatible(new.operator, restore="the old key and aggregates")
    if old.config.get("key") != new.config.get("key"):
        raise RestoreError(
            f"{label} is keyed by ({_list(new.config.get('key'))}), but its state in the checkpoint is keyed by "
            f"({_list(old.config.get('key'))}). {advice}"
        )
    if old.config.get("aggregates") != new.config.get("aggregates"):
        raise RestoreError(
            f"{label} computes {describe_aggregates(new.config.get('aggregates'))}, but its state in the checkpoint "
            f"contains {describe_aggregates(old.config.get('aggregates'))}. {advice}"
        )
    old_types = _state_types(old)
    for name, kind in _state_types(new).items():
        if old_types.get(name) != kind:
            raise RestoreError(
                f"{label}: column {name!r} is now {kind}, but was {old_types.get(name)} when the checkpoint was taken. "
                + incompatible(new.operator, restore="the old type with a cast of the column")
            )
    before, after = old.config.get("emit"), new.config.get("emit")
    if before is None or after is None or before == after:
        return ()
    note = f"{label} has emit={after!r} now, but had emit={before!r} when the checkpoint was taken: the aggregate emits "
    return (f"{note}{_UPDATES[str(after)]} from the checkpoint on",)


def describe_aggregates(aggregates: JsonValue) -> str:
    """Return the aggregates of a configuration as ``output=accumulator(column), ...``."""
    if not isinstance(aggregates, list):
        return ""
    return ", ".join(
        f"{spec.get('output')}={spec.get('accumulator')}({spec.get('column') or ''})"
        for spec in aggregates
        if isinstance(spec, dict)
    )


def _check_connector(old: OperatorInGraph, new: OperatorInGraph) -> None:
    before, after = old.config.get("kind"), new.config.get("kind")
    if before != after:
        raise RestoreError(
            f"{new.operator.label} is now of kind {after!r}, but was {before!r} when the checkpoint was taken. "
            + incompatible(new.operator, restore="the old kind")
        )


def _equal(field: str, before: JsonValue, after: JsonValue) -> bool:
    if before == after:
        return True
    if field == "paths" and isinstance(before, list) and isinstance(after, list):
        # The order of the paths has no effect, because the source sorts all files.
        return set(map(str, before)) == set(map(str, after))
    if field == "data" and isinstance(before, str) and isinstance(after, str):
        # Versions of Arrow can differ in how they compress the same rows.
        return bool(_rows(before).equals(_rows(after)))
    return False


def _rows(data: str) -> pa.Table:
    """Decode the field ``data`` of an iterable source: base64 of an Arrow IPC stream."""
    return pa.ipc.open_stream(pa.py_buffer(base64.b64decode(data))).read_all()


def _difference(field: str, before: JsonValue, after: JsonValue) -> str:
    match field:
        case "data":
            return "its rows have changed"
        case "schema_ipc":
            return "the columns or types of the query differ from those of the staged rows"
        case _:
            return f"{field.replace('_', ' ')} {_shorten(_list(after))} instead of {_shorten(_list(before))}"


def _state_types(owner: OperatorInGraph) -> dict[str, str]:
    """Return the types of the key columns and the aggregated columns in the operator's input."""
    key, aggregates = owner.config.get("key"), owner.config.get("aggregates")
    used = set(key) if isinstance(key, list) else set()
    if isinstance(aggregates, list):
        used |= {spec.get("column") for spec in aggregates if isinstance(spec, dict)}
    upstream = owner.graph.operator(owner.operator.inputs[0].operator)
    return {column.name: column.type for column in upstream.columns if column.name in used}


def _list(value: JsonValue) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _shorten(text: str) -> str:
    return text if len(text) <= _TEXT_CHARACTERS_MAX else text[:_TEXT_CHARACTERS_MAX] + "..."
