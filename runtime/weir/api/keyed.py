"""A stream by key, and what can be kept for each key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from weir.api.agg import Aggregate
from weir.api.callsite import call_site, naming
from weir.api.nodes import Node, NodeInput
from weir.api.stream import Stream, set_options
from weir.errors import GraphError
from weir.graph.logical import OperatorKind, Partitioning
from weir.operators.aggregate_config import AggregateConfig
from weir.protocol.codec import to_json
from weir.state.base import AggregateSpec, Emit

if TYPE_CHECKING:
    from weir.api.job import Job


class KeyedStream:
    """Made by ``Stream.key_by``."""

    def __init__(self, job: Job, node: Node, key: tuple[str, ...]) -> None:
        self._job = job
        self._node = node
        self._key = key

    def aggregate(self, *, emit: Literal["batch", "each"] = "batch", uid: str | None = None, **aggregates: Aggregate) -> Stream:
        """Running results per key, in the key columns and one column for each aggregate.

        ``emit="batch"``: one update for each key that occurs in a batch; ``"each"``: one for each record, in order. How
        records are cut into batches is chance, so with ``"batch"`` only the last update of a key is the same in every run.
        Give a uid: the state hangs on it.
        """
        node = Node(
            OperatorKind.AGGREGATE,
            (NodeInput(self._node, Partitioning.HASH, self._key),),
            self._node.schema,
            f"aggregate by {', '.join(self._key)}",
            call_site(),
        )
        with naming(node.where):
            if not aggregates:
                raise GraphError("name at least one aggregate, for example flights=agg.count()")
            for name, given in aggregates.items():
                if not isinstance(given, Aggregate):
                    raise GraphError(f"{name}={given!r} is no aggregate: use agg.count(), agg.sum('column'), min, max or mean")
            specs = tuple(AggregateSpec(name, given.accumulator, given.column) for name, given in aggregates.items())
            if emit not in tuple(Emit):
                raise GraphError(f"emit must be 'batch' or 'each', not {emit!r}")
            # Imported here: it brings the compiled kernels along, which a job without state need not load.
            from weir.state.layout import output_schema

            node.schema = output_schema(self._node.schema, self._key, specs)
        node.config = to_json(AggregateConfig(self._key, specs, Emit(emit)))
        set_options(node, uid=uid)
        self._job._add(node)
        return Stream(self._job, node)
