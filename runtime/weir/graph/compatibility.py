"""Does a graph fit the graph that a checkpoint was made by? A mismatch would restore wrong state, so it is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weir.errors import RestoreError
from weir.graph.checks import label
from weir.graph.inputs import check_same_input
from weir.graph.logical import LogicalGraph, LogicalOperator, OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.protocol.ids import OperatorUid
from weir.protocol.snapshots import JsonValue


@dataclass(frozen=True, slots=True)
class Compatibility:
    """What a restore does beside giving everything back. ``notes`` are sentences for people."""

    fresh: tuple[OperatorUid, ...]
    """Stateful operators that the checkpoint does not know: they start empty."""
    dropped: tuple[OperatorUid, ...]
    """Operators whose state is left behind (only where that was allowed)."""
    notes: tuple[str, ...]


def check_restorable(
    graph: PhysicalGraph,
    *,
    checkpointed: LogicalGraph,
    max_parallelism: Mapping[str, int],
    allow_non_restored_state: bool = False,
) -> Compatibility:
    """``checkpointed`` and ``max_parallelism`` are the manifest's. Raises RestoreError naming the operator."""
    old = {operator.uid: operator for operator in checkpointed.operators if operator.stateful}
    new = {operator.uid: operator for operator in graph.logical.operators if operator.stateful}
    notes: list[str] = []
    dropped = tuple(uid for uid in old if uid not in new)
    for uid in dropped:
        if not allow_non_restored_state:
            fresh_names = ", ".join(repr(other) for other in new if other not in old)
            hint = f"; new in it is {fresh_names}" if fresh_names else ""
            raise RestoreError(
                f"the checkpoint has state of {label(old[uid])}, which the graph no longer has{hint}: give the operator its "
                "old uid back, or allow the state to be left behind (--allow-non-restored-state)"
            )
        notes.append(f"state of {label(old[uid])} is left behind")
    for uid, operator in new.items():
        if uid not in old:
            notes.append(f"{label(operator)} is not in the checkpoint and starts empty")
            continue
        _check_same(old[uid], checkpointed, operator, graph.logical)
        if operator.uid_derived:
            notes.append(
                f"{label(operator)} was found by a derived uid: give it uid={uid!r} to keep its state when the graph changes"
            )
        _check_parallelism(operator, graph.chain_of(uid).parallelism, graph.max_parallelism[uid], max_parallelism.get(uid))
    return Compatibility(fresh=tuple(uid for uid in new if uid not in old), dropped=dropped, notes=tuple(notes))


def _check_parallelism(operator: LogicalOperator, parallelism: int, planned: int, fixed: int | None) -> None:
    if fixed is None:
        return
    if parallelism > fixed:
        raise RestoreError(
            f"{label(operator)} wants parallelism {parallelism}, but its state is cut into {fixed} key groups: "
            f"run it with {fixed} or less"
        )
    if planned != fixed:
        raise RestoreError(
            f"{label(operator)} is planned with max parallelism {planned}, but the checkpoint fixed it at {fixed}: "
            "its keys would move"
        )


def _check_same(old: LogicalOperator, old_graph: LogicalGraph, new: LogicalOperator, new_graph: LogicalGraph) -> None:
    if old.kind is not new.kind:
        raise RestoreError(
            f"{label(new)} was a {old.kind} in the checkpoint: state of one kind cannot become another's; use a new uid"
        )
    match new.kind:
        case OperatorKind.SOURCE | OperatorKind.SINK:
            before, after = _config(old).get("kind"), _config(new).get("kind")
            if before != after:
                raise RestoreError(f"{label(new)} is now of kind {after!r}, in the checkpoint it was {before!r}: use a new uid")
            if new.kind is OperatorKind.SOURCE:
                check_same_input(old, new)
            else:
                _check_same_place(old, new)
        case OperatorKind.AGGREGATE:
            _check_aggregate(old, old_graph, new, new_graph)
        case _:
            pass


def _check_same_place(old: LogicalOperator, new: LogicalOperator) -> None:
    """What a sink has committed is completed and taken back where it was written to."""
    before, after = _config(old), _config(new)
    if before.get("temporary") or after.get("temporary"):
        return  # of one process: another one could not find it anyhow
    if "directory" in before and before["directory"] != after.get("directory"):
        raise RestoreError(
            f"{label(new)} writes to {after.get('directory')}, in the checkpoint it wrote to {before['directory']}: what it committed there "
            "could be neither completed nor taken back. Give it its old directory back, or a new uid (what the old one committed "
            "stays its own; its state is left behind with --allow-non-restored-state)"
        )


def _check_aggregate(old: LogicalOperator, old_graph: LogicalGraph, new: LogicalOperator, new_graph: LogicalGraph) -> None:
    before, after = _config(old), _config(new)
    if before.get("key") != after.get("key"):
        raise RestoreError(
            f"{label(new)} is keyed by {_words(after.get('key'))}, its state by {_words(before.get('key'))}: use a new uid"
        )
    if before.get("aggregates") != after.get("aggregates"):
        raise RestoreError(
            f"{label(new)} computes {_words(after.get('aggregates'))}, its state holds {_words(before.get('aggregates'))}: "
            "use a new uid"
        )
    before_types, after_types = _state_types(old, old_graph), _state_types(new, new_graph)
    for name, kind in after_types.items():
        if before_types.get(name) != kind:
            raise RestoreError(
                f"{label(new)}: column {name!r} is now {kind}, its state has {before_types.get(name)}: cast it, or use a new uid"
            )


def _state_types(operator: LogicalOperator, graph: LogicalGraph) -> dict[str, str]:
    """Types of the columns that the state was made from: key columns and aggregated ones, as the operator's input has them."""
    config = _config(operator)
    key, aggregates = config.get("key"), config.get("aggregates")
    used = set(key) if isinstance(key, list) else set()
    if isinstance(aggregates, list):
        used |= {spec.get("column") for spec in aggregates if isinstance(spec, dict)}
    upstream = graph.operator(operator.inputs[0].operator)
    return {column.name: column.type for column in upstream.columns if column.name in used}


def _config(operator: LogicalOperator) -> dict[str, JsonValue]:
    return operator.config if isinstance(operator.config, dict) else {}


def _words(value: JsonValue) -> str:
    """Key columns or aggregate specs, as a person would write them."""
    if not isinstance(value, list):
        return str(value)
    return ", ".join(
        f"{item.get('output')}={item.get('accumulator')}({item.get('column') or ''})" if isinstance(item, dict) else str(item)
        for item in value
    )
