"""Contracts of sources and sinks.

A source is replayable: it enumerates splits, and a reader resumes a split *after* the recorded
position. A sink is two-phase: a writer stages, the coordinator commits once the checkpoint is
completed. Committing is done by the coordinator with a ``CommitPermit``, which only its kernel makes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

import pyarrow as pa

from weir.operators.base import OperatorContext, SourceOperator
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.snapshots import Committable, JsonValue, Split

Line: TypeAlias = Mapping[Generation, CheckpointId]
"""A line of history (``LogView.line``): what a generation in it committed for checkpoints up to the id given is on it."""


def is_on(line: Line, *, generation: int, checkpoint: int) -> bool:
    limit = line.get(Generation(generation))
    return limit is not None and checkpoint <= limit


class CommitPermit(Protocol):
    """Proof that ``checkpoint`` is completed in the job's log by the running generation."""

    @property
    def checkpoint(self) -> CheckpointId: ...
    @property
    def generation(self) -> Generation: ...


class Source(ABC):
    """Described by plain JSON (``describe``), so that a slot can rebuild it without unpickling."""

    kind: str

    @abstractmethod
    def describe(self) -> JsonValue: ...

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Known when the graph is built; may read file footers or first lines. Raises InputError, ConfigError."""

    @abstractmethod
    def splits(self, parallelism: int) -> tuple[Split, ...]:
        """Enumerate the input once, at the first start of the job, in the coordinator. Ids are unique and stable."""

    @abstractmethod
    def reader(self) -> SourceOperator: ...


class SinkWriter(ABC):
    """Stages records. One per subtask; calls come from the loop except ``PendingCommit.finish``.

    Call order: open -> restore (0 or 1 times) -> { write (only when ready) | pre_commit, then state }* -> close."""

    @abstractmethod
    def open(self, context: OperatorContext) -> None: ...

    def ready(self) -> bool:
        """False: too much is queued beside the loop; ask again later. Does not block."""
        return True

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None: ...

    @abstractmethod
    def pre_commit(self, checkpoint: CheckpointId) -> PendingCommit | None:
        """Close the open epoch at this barrier; records written from now on belong to the next. None: it was empty."""

    def state(self) -> JsonValue:
        """Small state of its own, kept in the snapshot as of the last ``pre_commit``. None: it has none."""
        return None

    def restore(self, states: Sequence[JsonValue]) -> None:
        """Take over the states of the writers whose work this one goes on with."""
        raise AssertionError(f"{type(self).__name__} was given state but keeps none")

    def close(self) -> None:
        """Release resources; what is staged and not pre-committed is void."""


class PendingCommit(Protocol):
    def finish(self) -> Sequence[JsonValue]:
        """Flush, fsync; on a background thread. Returns the payloads of the committables. Called again (after an aborted
        checkpoint) it returns the same."""
        ...


class Committer(ABC):
    """Finishes, undoes or sweeps what writers staged. Runs in the coordinator. Every method is idempotent.

    Call order of a generation's preparation: claim -> commit (again) -> abandon* -> reinstate* -> abort_after; then commit*.
    A coordinator may be paused before any of them and wake up when a newer generation has prepared and run: hence
    ``before_generation``, which is the generation being prepared. Nothing that it or a newer one wrote may be touched, and
    after a newer one has called ``abandon`` or ``reinstate`` these two of an older one must change nothing (Superseded).
    """

    revocable: bool = False

    def claim(self, *, job: str, sink: str, history: str | None = None) -> None:
        """Mark the place that is written to as that of this sink of this job, before anything there is touched. ``history``
        identifies the job's log: what a run with another log committed is not this one's to judge. None: it is not known.

        Raises SinkError if the place belongs to another job, sink or history. Most sinks keep nothing that could be mixed up."""

    @abstractmethod
    def commit(self, permit: CommitPermit, committables: Sequence[Committable]) -> None:
        """Publish. A committable already published is left alone. Raises SinkError; never drops data silently."""

    @abstractmethod
    def abort_after(self, checkpoint: CheckpointId, *, before_generation: Generation) -> None:
        """Remove what any generation older than ``before_generation`` staged for checkpoints > ``checkpoint``, also of
        subtasks that no longer exist. Everything completed has been committed or abandoned before, so a sink may remove what
        else such a generation staged, too: for older checkpoints, that never completed."""

    def abandon(self, committables: Sequence[Committable], *, line: Line, branch: str, before_generation: Generation) -> None:
        """Take back what is committed and not on ``line`` (revocable sinks only): readers no longer see it.

        ``committables``: of completed checkpoints off the line that are still listed somewhere; they may not be published
        yet. What was published of others, long retired, is found by the sink itself. Comes before ``abort_after``.
        Raises Superseded, SinkError.
        """
        raise NotImplementedError

    def reinstate(self, *, line: Line, branch: str, before_generation: Generation) -> None:
        """Undo ``abandon`` for what is on ``line``, under whatever branch it was taken back. ``before_generation`` as there."""
        raise NotImplementedError

    def result(self) -> object:
        """After the job: what a ``collect`` sink hands to the caller."""
        return None


class Sink(ABC):
    kind: str

    @abstractmethod
    def describe(self) -> JsonValue: ...

    @abstractmethod
    def check(self, schema: pa.Schema) -> None:
        """Refuse what cannot be written (unwritable directory, unsupported type) when the graph is built."""

    @abstractmethod
    def writer(self) -> SinkWriter: ...

    @abstractmethod
    def committer(self) -> Committer: ...
