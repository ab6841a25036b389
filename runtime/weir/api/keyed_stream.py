"""Keyed streams, and aggregates per key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from weir.api.agg import Aggregate
from weir.api.call_site import call_site, error_context
from weir.api.nodes import Node, NodeInput
from weir.api.stream import Stream, set_options
from weir.errors import GraphError
from weir.graph.logical import OperatorKind, Partitioning
from weir.protocol.codec import to_json
from weir.state.backend import AggregateConfig, AggregateSpec, Emit

if TYPE_CHECKING:
    from weir.api.job import Job


class KeyedStream:
    """A stream partitioned by key. Create a keyed stream with ``Stream.key_by``."""

    def __init__(self, job: Job, node: Node, key: tuple[str, ...]) -> None:
        self._job = job
        self._node = node
        self._key = key

    def aggregate(
        self, /, *aggregates: Aggregate, emit: Literal["batch", "each"] = "batch", uid: str | None = None, **named: Aggregate
    ) -> Stream:
        """Compute running aggregates per key. The resulting stream has the key columns and one column per aggregate.

        A keyword argument names the column of its aggregate, as in ``flights=agg.count()``. A positional aggregate has its name
        from ``alias``, as in ``agg.count().alias("uid")``. Use ``alias`` for a column with the name ``uid`` or ``emit``.

        With ``emit="batch"``, each batch gives one update for each key in the batch. With ``emit="each"``, each record gives one
        update, in the order of the records. Batch boundaries vary between runs, so with ``emit="batch"`` only the last update of
        a key is the same in every run.

        A checkpoint stores the state under the uid of the operator. Set ``uid``, because a uid that Weir derives can change
        when the job changes. Raises GraphError, SchemaError.
        """
        node = Node(
            OperatorKind.AGGREGATE,
            (NodeInput(self._node, Partitioning.HASH, self._key),),
            self._node.schema,
            f"aggregate by {', '.join(self._key)}",
            call_site(),
        )
        with error_context(node.where):
            for option, value in (("uid", uid), ("emit", emit)):
                if isinstance(value, Aggregate):
                    raise GraphError(
                        f"{option}= sets an option of aggregate, but got an aggregate. To name an output column {option!r}, pass the "
                        f"aggregate without {option}= and with .alias({option!r}), for example agg.count().alias({option!r})."
                    )
            specs = _specs(aggregates, named)
            if emit not in tuple(Emit):
                raise GraphError(f"emit must be 'batch' or 'each', not {emit!r}.")
            # Import lazily, because this import loads the compiled kernels, which only jobs with state need.
            from weir.state.row_layout import output_schema

            node.schema = output_schema(self._node.schema, self._key, specs)
        node.config = to_json(AggregateConfig(self._key, specs, Emit(emit)))
        set_options(node, uid=uid)
        self._job._add(node)
        return Stream(self._job, node)


def _specs(aggregates: Iterable[Aggregate], named: Mapping[str, Aggregate]) -> tuple[AggregateSpec, ...]:
    """Return the aggregates with the names of their output columns. Raises GraphError."""
    specs = []
    for name, aggregate in [*((None, each) for each in aggregates), *named.items()]:
        if not isinstance(aggregate, Aggregate):
            shown, example = (f"{name}={aggregate!r}", f"{name}=") if name else (repr(aggregate), "total=")
            raise GraphError(
                f"{shown} is not an aggregate. Use agg.count(), or agg.sum, agg.min, agg.max or agg.mean "
                f"with a column, for example {example}agg.sum('column')."
            )
        output = name or aggregate.name
        if not isinstance(output, str) or not output:
            raise GraphError(
                f"An aggregate has the name {output!r}. Name its output column with a string, for example flights=agg.count() or "
                "agg.count().alias('flights')."
            )
        specs.append(AggregateSpec(output, aggregate.accumulator, aggregate.column))
    if not specs:
        raise GraphError("aggregate needs at least one aggregate, for example flights=agg.count().")
    return tuple(specs)
