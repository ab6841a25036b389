"""The logical graph: operators and the edges between them, as the author of the job wrote them. Plain data.

The graph contains no code. ``code`` is the key of a function in the code bundle, which Spark ships to the slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from weir.protocol.ids import OperatorUid
from weir.protocol.snapshots import JsonValue

FORMAT_VERSION = 1


class Partitioning(StrEnum):
    """How the records of an edge are distributed to the target's subtasks."""

    FORWARD = "forward"
    HASH = "hash"
    REBALANCE = "rebalance"
    BROADCAST = "broadcast"
    GLOBAL = "global"
    """All records to subtask 0."""


class OperatorKind(StrEnum):
    SOURCE = "source"
    MAP = "map"
    FLAT_MAP = "flat_map"
    FILTER_ROWS = "filter_rows"
    SELECT = "select"
    WITH_COLUMNS = "with_columns"
    FILTER = "filter"
    MAP_BATCHES = "map_batches"
    UNION = "union"
    AGGREGATE = "aggregate"
    SINK = "sink"


@dataclass(frozen=True, slots=True)
class Column:
    """``type`` is the string form of the Arrow type (``int64``, ``string``, ``timestamp[us, tz=UTC]``)."""

    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Input:
    operator: OperatorUid
    partitioning: Partitioning = Partitioning.FORWARD
    key: tuple[str, ...] = ()
    """Column names of a HASH edge."""
    feedback: bool = False
    """Whether this is a feedback edge, which does not count for watermarks. The API does not support cycles in the graph yet."""


@dataclass(frozen=True, slots=True)
class LogicalOperator:
    uid: OperatorUid
    name: str
    kind: OperatorKind
    inputs: tuple[Input, ...]
    columns: tuple[Column, ...]
    """The columns of the output; for a sink, the columns of the input."""
    schema: str
    """The exact schema of ``columns``: base64 of the Arrow IPC schema message."""
    uid_derived: bool = False
    parallelism: int | None = None
    """None means the parallelism of the job."""
    max_parallelism: int | None = None
    stateful: bool = False
    config: JsonValue = None
    """The configuration, whose form depends on the operator's kind."""
    code: str | None = None
    """The key of the operator's function in the code bundle."""
    site: str | None = None
    """The file and line where the author created the operator, such as ``flights.py:12``. For messages and renderings."""

    @property
    def label(self) -> str:
        """How messages name the operator: its kind, uid and site."""
        return f"{self.kind} {self.uid!r}" + (f" (at {self.site})" if self.site else "")


@dataclass(frozen=True, slots=True)
class LogicalGraph:
    job: str
    operators: tuple[LogicalOperator, ...]
    """The operators are in topological order, ignoring feedback edges."""
    version: int = FORMAT_VERSION

    def operator(self, uid: OperatorUid) -> LogicalOperator:
        for operator in self.operators:
            if operator.uid == uid:
                return operator
        raise KeyError(uid)
