"""Whether a graph can restore a checkpoint of another graph.

A graph that does not match the checkpoint is refused, because the job would restore wrong state.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from weir.errors import RestoreError
from weir.graph.logical import LogicalGraph, LogicalOperator
from weir.graph.operator_kinds import OPERATOR_KINDS
from weir.graph.physical import PhysicalGraph
from weir.graph.state_checks import OperatorInGraph, check_follow, follows, incompatible, starts_without_state
from weir.protocol.ids import OperatorUid
from weir.protocol.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Compatibility:
    """How a compatible graph differs from the checkpoint's graph. ``notes`` are sentences for the user."""

    fresh: tuple[OperatorUid, ...]
    """Stateful operators that are not in the checkpoint: they start without state."""
    dropped: tuple[OperatorUid, ...]
    """Operators whose state in the checkpoint is not restored. The tuple is empty without ``allow_non_restored_state``."""
    notes: tuple[str, ...]


def check_restorable(
    graph: PhysicalGraph,
    *,
    checkpointed: LogicalGraph,
    max_parallelism: Mapping[str, int],
    allow_non_restored_state: bool = False,
    ended: Collection[str] = (),
    incomplete: Collection[str] = (),
) -> Compatibility:
    """``checkpointed`` and ``max_parallelism`` come from the manifest. ``ended`` and ``incomplete`` are sources, see
    ``ended_sources`` and ``incomplete_sources``. Raises RestoreError naming the operator."""
    old = {operator.uid: operator for operator in checkpointed.operators if operator.stateful}
    new = {operator.uid: operator for operator in graph.logical.operators if operator.stateful}
    notes: list[str] = []
    dropped = tuple(uid for uid in old if uid not in new)
    for uid in dropped:
        if not allow_non_restored_state:
            fresh_names = ", ".join(repr(other) for other in new if other not in old)
            hint = f" (new in the graph: {fresh_names})" if fresh_names else ""
            raise RestoreError(
                f"the checkpoint has state of {old[uid].label}, which the graph no longer has{hint}: give the operator its "
                "old uid back, or drop the state with --allow-non-restored-state"
            )
        notes.append(f"state of {old[uid].label} is not restored")
    for uid, operator in new.items():
        if uid not in old:
            notes.append(f"{operator.label} is not in the checkpoint and {starts_without_state(operator)}")
            continue
        notes += _check_state(OperatorInGraph(old[uid], checkpointed), OperatorInGraph(operator, graph.logical))
        if follows(operator) and not follows(old[uid]):
            check_follow(operator, ended=uid in ended, complete=uid not in incomplete)
        if operator.uid_derived:
            notes.append(
                f"{operator.label} was found by a derived uid: give it uid={uid!r} to keep its state when the graph changes"
            )
        _check_parallelism(operator, graph.chain_of(uid).parallelism, graph.max_parallelism[uid], max_parallelism.get(uid))
    return Compatibility(fresh=tuple(uid for uid in new if uid not in old), dropped=dropped, notes=tuple(notes))


def ended_sources(manifest: Manifest, graph: PhysicalGraph) -> frozenset[OperatorUid]:
    """Return the sources that had ended in at least one subtask when the checkpoint was taken. ``graph``: the manifest's graph."""
    return frozenset(graph.chains[subtask.chain].operators[0] for subtask in manifest.subtasks if subtask.ended)


def incomplete_sources(manifest: Manifest) -> frozenset[OperatorUid]:
    """Return the sources that a version of Weir without split lists enumerated. Their split lists never contained the splits that
    were finished at that time, so these splits count as finished but have no index."""
    begun = dict.fromkeys(manifest.assigners, 0)
    for snapshot in manifest.operators():
        if snapshot.operator in begun:
            begun[snapshot.operator] += len(snapshot.splits)
    return frozenset(
        uid for uid, state in manifest.assigners.items() if state.finished + begun[uid] + len(state.pending) != state.next
    )


def _check_parallelism(operator: LogicalOperator, parallelism: int, planned: int, fixed: int | None) -> None:
    if fixed is None:
        return
    if parallelism > fixed:
        raise RestoreError(
            f"{operator.label} has parallelism {parallelism}, but its state has only {fixed} key groups: set a "
            f"parallelism of {fixed} or less"
        )
    if planned != fixed:
        raise RestoreError(
            f"{operator.label} is planned with max parallelism {planned}, but the checkpoint fixed it at "
            f"{fixed}, so its keys would move to other key groups"
        )


def _check_state(old: OperatorInGraph, new: OperatorInGraph) -> tuple[str, ...]:
    kind = new.operator.kind
    if old.operator.kind is not kind:
        raise RestoreError(
            f"{new.operator.label} cannot restore the state of its uid, because the operator with this uid in the checkpoint "
            f"has kind {old.operator.kind}. " + incompatible(new.operator, restore="the old operator")
        )
    return OPERATOR_KINDS[kind].check_state(old, new)
