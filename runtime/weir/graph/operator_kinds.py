"""The properties of each operator kind: inputs, state, rendering, and the check of a checkpoint's state.

To add a kind, add a member to ``OperatorKind``, an entry to ``OPERATOR_KINDS`` and a constructor to ``weir.operators.factory``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weir.graph import state_checks
from weir.graph.logical import OperatorKind
from weir.graph.state_checks import Config, StateCheck, describe_aggregates


def _connector(config: Config) -> str:
    return str(config.get("kind", "")) + (", follows its input" if config.get("follow") is not None else "")


def _expressions(config: Config) -> str:
    expressions = config.get("expressions") or config.get("function")
    return ", ".join(str(item) for item in expressions) if isinstance(expressions, list) else str(expressions or "")


@dataclass(frozen=True, slots=True)
class KindProperties:
    inputs_min: int = 1
    inputs_max: int | None = 1
    """None: unbounded."""
    stateful: bool = False
    """A checkpoint contains state of the operator: splits, keyed rows or committables. A restore finds the state by uid."""
    keyed: bool = False
    """The state is partitioned by key, so the input must be a HASH edge."""
    describe: Callable[[Config], str] = _expressions
    """Describes the configuration on one line."""
    check_state: StateCheck = state_checks.accept
    """Raises RestoreError if the operator cannot restore its state from a checkpoint."""

    @property
    def inputs(self) -> str:
        if self.inputs_max is None:
            return "at least two inputs"
        return "one input" if self.inputs_max else "no input"


_STATELESS = KindProperties()

OPERATOR_KINDS: dict[OperatorKind, KindProperties] = {
    OperatorKind.SOURCE: KindProperties(0, 0, stateful=True, describe=_connector, check_state=state_checks.check_source),
    OperatorKind.MAP: _STATELESS,
    OperatorKind.FLAT_MAP: _STATELESS,
    OperatorKind.FILTER_ROWS: _STATELESS,
    OperatorKind.SELECT: _STATELESS,
    OperatorKind.WITH_COLUMNS: _STATELESS,
    OperatorKind.FILTER: _STATELESS,
    OperatorKind.MAP_BATCHES: _STATELESS,
    OperatorKind.UNION: KindProperties(2, None),
    OperatorKind.AGGREGATE: KindProperties(
        stateful=True,
        keyed=True,
        describe=lambda config: describe_aggregates(config.get("aggregates")),
        check_state=state_checks.check_aggregate,
    ),
    OperatorKind.SINK: KindProperties(stateful=True, describe=_connector, check_state=state_checks.check_sink),
}
