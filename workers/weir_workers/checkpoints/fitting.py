"""Whether the graph that is to run can go on with a checkpoint's state: the same check as a driver's, before anything is stopped for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from weir.errors import GraphError, ProtocolError, RestoreError
from weir.graph.compatibility import check_restorable
from weir.graph.compile import compile_graph
from weir.graph.logical import LogicalGraph, LogicalOperator, OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.protocol import codec
from weir.protocol.manifest import Manifest
from weir.storage.layout import STAGED_KIND

QUERY_KIND = "spark_query"
"""Of a source whose rows are not staged yet. What its driver goes on with are those that the checkpoint reads."""


@dataclass(frozen=True, slots=True)
class Version:
    """Of a spec: its graph as a worker has compiled it, and the settings that matter here."""

    graph: Mapping[str, Any]
    parallelism: int
    allow_non_restored_state: bool


@dataclass(frozen=True, slots=True)
class Fit:
    """``misfit`` None: it fits, as far as one can tell before it runs. ``notes``: sentences for people."""

    misfit: str | None
    notes: tuple[str, ...] = ()


def fit(manifest: Manifest, wanted: Version, *, maker: Version | None) -> Fit:
    """``maker``: the version that has taken the checkpoint, if that is known. Should even that one seem not to fit, what differs is not
    the version but where it was compiled (a path that depends on the machine, say): then nobody is held up by it."""
    found = _fit(manifest, wanted)
    if found.misfit is None or maker is None:
        return found
    if _fit(manifest, maker).misfit is None:
        return found
    return Fit(None, (f"whether its state fits could not be found out beforehand: {found.misfit}",))


def _fit(manifest: Manifest, version: Version) -> Fit:
    try:
        old = codec.from_json(PhysicalGraph, manifest.graph)
        new = codec.from_json(PhysicalGraph, dict(version.graph)).logical
    except ProtocolError as error:
        return Fit(None, (f"whether its state fits is not known: {error}",))
    try:
        graph = compile_graph(
            _as_staged(new, old.logical), slots=version.parallelism, fixed_max_parallelism=old.max_parallelism
        )  # fmt: skip
        found = check_restorable(
            graph,
            checkpointed=old.logical,
            max_parallelism=old.max_parallelism,
            allow_non_restored_state=version.allow_non_restored_state,
        )
    except (RestoreError, GraphError) as error:
        return Fit(str(error))
    return Fit(None, found.notes)


def _as_staged(new: LogicalGraph, old: LogicalGraph) -> LogicalGraph:
    staged = {one.uid: one.config for one in old.operators if _kind(one) == STAGED_KIND}

    def with_rows(operator: LogicalOperator) -> LogicalOperator:
        if operator.kind is OperatorKind.SOURCE and _kind(operator) == QUERY_KIND and operator.uid in staged:
            return replace(operator, config=staged[operator.uid])
        return operator

    return replace(new, operators=tuple(map(with_rows, new.operators)))


def _kind(operator: LogicalOperator) -> object:
    return operator.config.get("kind") if isinstance(operator.config, dict) else None
