"""Check whether a graph can restore a checkpoint.

The driver checks the compatibility when a run starts. A plan checks the compatibility earlier, before the job is stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from weir.errors import GraphError, ProtocolError, RestoreError
from weir.graph.compatibility import check_restorable, ended_sources, incomplete_sources
from weir.graph.compile import compile_graph
from weir.graph.logical import LogicalGraph, LogicalOperator, OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.graph.state_checks import follows
from weir.protocol import codec
from weir.protocol.manifest import Manifest
from weir.storage.layout import STAGED_KIND

QUERY_KIND = "spark_query"
"""The kind of a Spark source whose rows are not staged yet. In a checkpoint this source has the kind STAGED_KIND, because the driver that
took the checkpoint had staged the rows."""


@dataclass(frozen=True, slots=True)
class Version:
    """The compiled graph of a version of a spec, and the settings that determine compatibility."""

    graph: Mapping[str, Any]
    parallelism: int
    allow_non_restored_state: bool


@dataclass(frozen=True, slots=True)
class CompatibilityResult:
    """``incompatibility`` is the reason why the graph cannot restore the checkpoint, or None if no reason is known before the job runs.
    ``notes`` are sentences for the user."""

    incompatibility: str | None
    notes: tuple[str, ...] = ()


def fit(manifest: Manifest, wanted: Version, *, maker: Version | None) -> CompatibilityResult:
    """Check whether ``wanted`` can restore the checkpoint. ``maker`` is the version that took the checkpoint, if known.

    If even the graph of ``maker`` seems incompatible, the graphs differ only because they were compiled in different environments,
    for example on hosts with different paths. The result then contains a note instead of an incompatibility."""
    found = _check(manifest, wanted)
    if found.incompatibility is None or maker is None:
        return found
    if _check(manifest, maker).incompatibility is None:
        return found
    return CompatibilityResult(None, (f"the graph's compatibility cannot be checked in advance: {found.incompatibility}",))


def _check(manifest: Manifest, version: Version) -> CompatibilityResult:
    try:
        old = codec.from_json(PhysicalGraph, manifest.graph)
        new = codec.from_json(PhysicalGraph, dict(version.graph)).logical
    except ProtocolError as error:
        return CompatibilityResult(None, (f"the compatibility of the checkpoint's state is unknown: {error}",))
    try:
        graph = compile_graph(
            _as_staged(new, old.logical), slots=version.parallelism, fixed_max_parallelism=old.max_parallelism
        )  # fmt: skip
        found = check_restorable(
            graph,
            checkpointed=old.logical,
            max_parallelism=old.max_parallelism,
            allow_non_restored_state=version.allow_non_restored_state,
            ended=ended_sources(manifest, old),
            incomplete=incomplete_sources(manifest),
        )
    except (RestoreError, GraphError) as error:
        return CompatibilityResult(str(error))
    reads_again = (
        f"{operator.label} follows its input, and reads the files again that it found after this checkpoint"
        for operator in graph.logical.operators
        if operator.kind is OperatorKind.SOURCE and follows(operator) and operator.uid in manifest.assigners
    )
    return CompatibilityResult(None, (*found.notes, *reads_again))


def _as_staged(new: LogicalGraph, old: LogicalGraph) -> LogicalGraph:
    staged = {one.uid: one.config for one in old.operators if _kind(one) == STAGED_KIND}

    def with_rows(operator: LogicalOperator) -> LogicalOperator:
        if operator.kind is OperatorKind.SOURCE and _kind(operator) == QUERY_KIND and operator.uid in staged:
            return replace(operator, config=staged[operator.uid])
        return operator

    return replace(new, operators=tuple(map(with_rows, new.operators)))


def _kind(operator: LogicalOperator) -> object:
    return operator.config.get("kind") if isinstance(operator.config, dict) else None
