"""The class ``Job``, with which a job author builds a graph of operators."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, cast

from weir.api.call_site import call_site, error_context
from weir.api.nodes import Node, assign_uids, check_identifier
from weir.api.stream import Stream, set_options
from weir.connectors.base import Sink, Source
from weir.errors import GraphError
from weir.graph.logical import LogicalGraph, OperatorKind
from weir.graph.validation import validate_graph
from weir.operators.code_bundle import CodeBundle
from weir.protocol.ids import OperatorUid

collecting_params: ContextVar[bool] = ContextVar("collecting_params", default=False)
"""True while Weir runs a job function only to collect the job's parameters. While ``collecting_params`` is True, sources
do not read input."""


class Job:
    """A job under construction. The job's ``name`` becomes part of paths in checkpoint storage."""

    def __init__(self, name: str) -> None:
        self.name = check_identifier("job name", name)
        self._nodes: list[Node] = []
        self._originals: dict[Node, Node] = {}
        """Maps each node that ``Stream.options`` returned to the node that it replaces."""
        self._sources: dict[Node, Source] = {}
        self._sinks: dict[Node, Sink] = {}

    def read(self, source: Source, *, uid: str | None = None, name: str | None = None, parallelism: int | None = None) -> Stream:
        """Return a stream of the source's records.

        A checkpoint stores the input positions under the uid of the source. Set ``uid``, because a uid that Weir derives can
        change when the job changes.
        """
        if collecting_params.get():
            return cast(Stream, _StreamStub())
        where = f"source at {call_site()}"
        with error_context(where):
            if not isinstance(source, Source):
                raise GraphError(f"read needs a source, for example sources.parquet(path), not {type(source).__name__}.")
            source = source.resolved()
            schema = source.schema().remove_metadata()
            if len(set(schema.names)) != len(schema.names) or not schema.names:
                raise GraphError(f"the input needs columns with distinct names, but has: {', '.join(schema.names) or 'none'}.")
        node = Node(OperatorKind.SOURCE, (), schema, f"read {source.kind}", call_site(), config=source.describe)
        set_options(node, uid=uid, name=name, parallelism=parallelism)
        self._add(node)
        self._sources[node] = source
        return Stream(self, node)

    def to_graph(self) -> tuple[LogicalGraph, CodeBundle]:
        """Return the graph as plain data, and the code bundle to which the graph refers. The same job always gives the same graph.

        Raises GraphError if the job reads or writes nothing, a stream is unused, or a uid is not unique.
        """
        self._check()
        nodes = self._used_nodes()
        uids = assign_uids(nodes)
        code = {f"code/{uids[node]}": node.code for node in nodes if node.code is not None}
        operators = tuple(
            node.logical(uids[node], uids, f"code/{uids[node]}" if node.code is not None else None) for node in nodes
        )
        graph = LogicalGraph(self.name, operators)
        validate_graph(graph)
        return graph, CodeBundle(code)

    def sources(self) -> dict[OperatorUid, Source]:
        """Return a dict of the sources by uid. The uids are the same as in the graph. The driver enumerates the splits of these
        sources."""
        uids = assign_uids(self._used_nodes())
        return {uids[node]: source for node, source in self._sources.items() if node in uids}

    def sinks(self) -> dict[OperatorUid, Sink]:
        """Return a dict of the sinks by uid. The uids are the same as in the graph. The driver commits output with these sinks."""
        uids = assign_uids(self._used_nodes())
        return {uids[node]: sink for node, sink in self._sinks.items()}

    def _check(self) -> None:
        if not self._sources:
            raise GraphError(f"Job {self.name!r} has no source. Add a source with job.read(...).")
        if not self._sinks:
            raise GraphError(f"Job {self.name!r} has no sink. End a stream with .write(...).")
        used = self._read_nodes()
        for node in self._used_nodes():
            if node.kind is not OperatorKind.SINK and node not in used:
                hint = ""
                if node in self._originals:
                    hint = " options(...) does not change a stream. Continue with the stream that options(...) returns."
                raise GraphError(
                    f"The output of {node.where} is not used.{hint} Write the output to a sink, or remove the operator."
                )

    def _read_nodes(self) -> set[Node]:
        return {source.node for node in self._nodes for source in node.inputs}

    def _used_nodes(self) -> list[Node]:
        """Return all nodes except the nodes that no operator reads and for which ``Stream.options`` has returned another node."""
        read, replaced = self._read_nodes(), set(self._originals.values())
        return [node for node in self._nodes if node in read or node not in replaced]

    def _add(self, node: Node) -> None:
        self._nodes.append(node)

    def _add_variant(self, node: Node, *, of: Node) -> None:
        """Add a copy of ``of`` with other options. Nodes keep their order, so derived uids do not depend on ``options``."""
        self._nodes.insert(self._nodes.index(of) + 1, node)
        self._originals[node] = of
        if of in self._sources:
            self._sources[node] = self._sources[of]

    def _add_sink(self, node: Node, sink: Sink) -> None:
        self._add(node)
        self._sinks[node] = sink


class _StreamStub:
    """A stub that replaces every stream while a job function runs only to collect the job's parameters. Every method of the stub
    returns the stub."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **options: self
