"""What an aggregate operator carries in the graph."""

from __future__ import annotations

from dataclasses import dataclass

from weir.state.base import AggregateSpec, Emit


@dataclass(frozen=True, slots=True)
class AggregateConfig:
    """Its JSON form (``protocol.codec``) is ``LogicalOperator.config`` of an aggregate."""

    key: tuple[str, ...]
    aggregates: tuple[AggregateSpec, ...]
    emit: Emit = Emit.BATCH
