"""The logical graph: operators and the edges between them, as the job's author wrote it. Plain data.

It holds no code, only references (``code``) into the bundle that Spark ships to the slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from weir.protocol.ids import OperatorUid
from weir.protocol.snapshots import JsonValue

FORMAT_VERSION = 1


class Partitioning(StrEnum):
    """How records of an edge are dealt out to the target's subtasks."""

    FORWARD = "forward"
    HASH = "hash"
    REBALANCE = "rebalance"
    BROADCAST = "broadcast"
    GLOBAL = "global"
    """Everything to subtask 0."""


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
    """``type`` is the Arrow type as its own string form (``int64``, ``string``, ``timestamp[us, tz=UTC]``)."""

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
    """A back edge: left out of watermark minima (loops are not yet offered by the API)."""


@dataclass(frozen=True, slots=True)
class LogicalOperator:
    uid: OperatorUid
    name: str
    kind: OperatorKind
    inputs: tuple[Input, ...]
    columns: tuple[Column, ...]
    """Of its output; of a sink: what it is given."""
    schema: str
    """The same, exactly: base64 of the Arrow IPC schema message."""
    uid_derived: bool = False
    parallelism: int | None = None
    """None: the job's."""
    max_parallelism: int | None = None
    stateful: bool = False
    config: JsonValue = None
    """What the operator's factory needs, per kind."""
    code: str | None = None
    """Reference into the code bundle."""
    site: str | None = None
    """Where the author wrote it: ``flights.py:12``. For messages and drawings only."""


@dataclass(frozen=True, slots=True)
class LogicalGraph:
    job: str
    operators: tuple[LogicalOperator, ...]
    """In topological order (feedback edges apart)."""
    version: int = FORMAT_VERSION

    def operator(self, uid: OperatorUid) -> LogicalOperator:
        for operator in self.operators:
            if operator.uid == uid:
                return operator
        raise KeyError(uid)
