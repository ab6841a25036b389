"""The operators of a job under construction. Operators get their uids when the job is complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from weir.errors import GraphError
from weir.graph.logical import Input, LogicalOperator, OperatorKind, Partitioning
from weir.graph.operator_kinds import OPERATOR_KINDS
from weir.graph.schema import columns_of, encode_schema
from weir.protocol.ids import OperatorUid
from weir.protocol.snapshots import JsonValue

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclass(slots=True, eq=False)
class NodeInput:
    node: Node
    partitioning: Partitioning = Partitioning.FORWARD
    key: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Node:
    """An operator of a job under construction. ``Stream.options`` copies the operator, with other options."""

    kind: OperatorKind
    inputs: tuple[NodeInput, ...]
    schema: pa.Schema
    name: str
    site: str | None
    uid: str | None = None
    parallelism: int | None = None
    max_parallelism: int | None = None
    config: Callable[[], JsonValue] | JsonValue = None
    """The configuration of the operator. For sources and sinks, this field is a function that returns the configuration.
    ``logical`` calls this function."""
    code: object = None

    @property
    def where(self) -> str:
        """The name of the operator in error messages: kind, uid (if the author set a uid), and line in the author's code."""
        uid = f" {self.uid!r}" if self.uid else ""
        return f"{self.kind}{uid}" + (f" at {self.site}" if self.site else "")

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
            stateful=OPERATOR_KINDS[self.kind].stateful,
            config=self.config() if callable(self.config) else self.config,
            code=code,
            site=self.site,
        )


def check_identifier(role: str, value: str) -> str:
    """Return ``value``, which is a uid or a job name. Raises GraphError if ``value`` is unsuitable as a part of a path."""
    if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value):
        raise GraphError(
            f"Invalid {role} {value!r}. Use at most 128 letters, digits, '.', '_' and '-', and begin with a letter or a digit."
        )
    return value


def assign_uids(nodes: Sequence[Node]) -> dict[Node, OperatorUid]:
    """Return the uid of each node. If the author set no uid, the uid is the node's name and a number. Raises GraphError
    for a duplicate uid.

    The number in a uid counts only operators of the same name, so a new operator does not change uids of operators with other
    names.
    """
    owner: dict[str, Node] = {}
    for node in nodes:
        if node.uid is not None:
            if node.uid in owner:
                raise GraphError(
                    f"uid {node.uid!r} is used twice: by {owner[node.uid].where} and by {node.where}. Choose different uids."
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
