"""A job while it is being written, and the graph that comes out of it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, cast

from weir.api.callsite import call_site, naming
from weir.api.nodes import Node, assign_uids, check_identifier
from weir.api.stream import Stream, set_options
from weir.connectors.base import Sink, Source
from weir.errors import GraphError
from weir.graph.checks import check_logical
from weir.graph.logical import LogicalGraph, OperatorKind
from weir.operators.bundle import CodeBundle
from weir.protocol.ids import OperatorUid

only_declaring: ContextVar[bool] = ContextVar("only_declaring", default=False)
"""True while a job function runs only to see which parameters it asks for: then no input is looked at."""


class Job:
    """``name`` becomes part of paths in checkpoint storage."""

    def __init__(self, name: str) -> None:
        self.name = check_identifier("a job's name", name)
        self._nodes: list[Node] = []
        self._sources: dict[Node, Source] = {}
        self._sinks: dict[Node, Sink] = {}

    def read(self, source: Source, *, uid: str | None = None, name: str | None = None, parallelism: int | None = None) -> Stream:
        """A stream of the source's records. Give a uid: the position in the input hangs on it."""
        if only_declaring.get():
            return cast(Stream, _AnyStream())
        where = f"source at {call_site()}"
        with naming(where):
            if not isinstance(source, Source):
                raise GraphError(f"read takes a source, for example sources.parquet(path), not {type(source).__name__}")
            schema = source.schema().remove_metadata()
            if len(set(schema.names)) != len(schema.names) or not schema.names:
                raise GraphError(f"the input needs columns of different names, it has: {', '.join(schema.names) or 'none'}")
        node = Node(OperatorKind.SOURCE, (), schema, f"read {source.kind}", call_site(), config=source.describe)
        set_options(node, uid=uid, name=name, parallelism=parallelism)
        self._add(node)
        self._sources[node] = source
        return Stream(self, node)

    def to_graph(self) -> tuple[LogicalGraph, CodeBundle]:
        """The graph as plain data and the code that it refers to. The same job gives the same graph each time.

        Raises GraphError: nothing is read or written, a stream goes nowhere, a uid is given twice.
        """
        self._check()
        uids = assign_uids(self._nodes)
        code = {f"code/{uids[node]}": node.code for node in self._nodes if node.code is not None}
        operators = tuple(
            node.logical(uids[node], uids, f"code/{uids[node]}" if node.code is not None else None) for node in self._nodes
        )
        graph = LogicalGraph(self.name, operators)
        check_logical(graph)
        return graph, CodeBundle(code)

    def sources(self) -> dict[OperatorUid, Source]:
        """The sources themselves, by the uids of ``to_graph``: the driver enumerates their splits."""
        uids = assign_uids(self._nodes)
        return {uids[node]: source for node, source in self._sources.items()}

    def sinks(self) -> dict[OperatorUid, Sink]:
        """The sinks themselves: the driver commits with them."""
        uids = assign_uids(self._nodes)
        return {uids[node]: sink for node, sink in self._sinks.items()}

    def _check(self) -> None:
        if not self._sources:
            raise GraphError(f"job {self.name!r} reads nothing: begin with job.read(...)")
        if not self._sinks:
            raise GraphError(f"job {self.name!r} writes nothing: end a stream with .write(...)")
        used = {source.node for node in self._nodes for source in node.inputs}
        for node in self._nodes:
            if node.kind is not OperatorKind.SINK and node not in used:
                raise GraphError(f"the stream of the {node.where} goes nowhere: write it, use it or remove it")

    def _add(self, node: Node) -> None:
        self._nodes.append(node)

    def _add_sink(self, node: Node, sink: Sink) -> None:
        self._add(node)
        self._sinks[node] = sink


class _AnyStream:
    """Stands for every stream while parameters are collected: any call on it gives it again."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **options: self
