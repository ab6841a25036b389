"""Operators while a job is being written: uids are only known once all of them are there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from weir.errors import GraphError
from weir.graph.logical import Input, LogicalOperator, OperatorKind, Partitioning
from weir.graph.schema import columns_of, encode_schema
from weir.protocol.ids import OperatorUid
from weir.protocol.snapshots import JsonValue

STATEFUL = frozenset({OperatorKind.SOURCE, OperatorKind.AGGREGATE, OperatorKind.SINK})
"""Positions of splits, rows by key, committables: what a checkpoint holds and a restore must find its way back to."""

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclass(slots=True, eq=False)
class NodeInput:
    node: Node
    partitioning: Partitioning = Partitioning.FORWARD
    key: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Node:
    """One operator. ``uid``, ``name`` and ``parallelism`` may still change (``Stream.options``)."""

    kind: OperatorKind
    inputs: tuple[NodeInput, ...]
    schema: pa.Schema
    name: str
    site: str | None
    uid: str | None = None
    parallelism: int | None = None
    max_parallelism: int | None = None
    config: Callable[[], JsonValue] | JsonValue = None
    """A function where the description is only wanted when the graph is made (sources, sinks)."""
    code: object = None

    @property
    def where(self) -> str:
        """How messages name it before uids are settled."""
        known = f" {self.uid!r}" if self.uid else ""
        return f"{self.kind}{known}" + (f" at {self.site}" if self.site else "")

    def logical(self, uid: OperatorUid, uids: dict[Node, OperatorUid], code: str | None) -> LogicalOperator:
        return LogicalOperator(
            uid=uid,
            name=self.name,
            kind=self.kind,
            inputs=tuple(Input(uids[source.node], source.partitioning, source.key) for source in self.inputs),
            columns=columns_of(self.schema),
            schema=encode_schema(self.schema),
            uid_derived=self.uid is None,
            parallelism=self.parallelism,
            max_parallelism=self.max_parallelism,
            stateful=self.kind in STATEFUL,
            config=self.config() if callable(self.config) else self.config,
            code=code,
            site=self.site,
        )


def check_identifier(what: str, given: str) -> str:
    """Uids and job names become parts of paths. Raises GraphError."""
    if not isinstance(given, str) or not _IDENTIFIER.fullmatch(given):
        raise GraphError(
            f"{given!r} cannot be {what}: use letters, digits, '.', '_' and '-', at most 128, a letter or digit first"
        )
    return given


def assign_uids(nodes: Sequence[Node]) -> dict[Node, OperatorUid]:
    """Those given by hand, and for the rest the name with a running number. Raises GraphError for a uid given twice.

    A number counts operators of the same name only, so that a new one does not shift all others.
    """
    owner: dict[str, Node] = {}
    for node in nodes:
        if node.uid is not None:
            if node.uid in owner:
                raise GraphError(
                    f"uid {node.uid!r} is given twice, to the {owner[node.uid].where} and the {node.where}: choose another"
                )
            owner[node.uid] = node
    uids: dict[Node, OperatorUid] = {}
    for node in nodes:
        if node.uid is not None:
            uids[node] = OperatorUid(node.uid)
            continue
        stem = re.sub(r"[^a-z0-9]+", "-", node.name.lower()).strip("-")[:100] or str(node.kind)
        number = 1
        while f"{stem}-{number}" in owner:
            number += 1
        owner[f"{stem}-{number}"] = node
        uids[node] = OperatorUid(f"{stem}-{number}")
    return uids
