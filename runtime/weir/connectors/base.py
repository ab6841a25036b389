"""The contracts of sources and sinks.

A source is replayable: it enumerates splits, and a reader resumes a split *after* the recorded position. A sink writes in two
phases: a writer stages output, and the coordinator commits it when the checkpoint is completed. To commit, the coordinator needs
a ``CommitPermit``, which only the coordinator kernel makes.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from weir.kernel.checkpoints import CommitPermit
from weir.operators.base import OperatorContext, SourceOperator
from weir.protocol.codec import to_json
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.snapshots import Committable, JsonValue, Split

Ancestry: TypeAlias = Mapping[Generation, CheckpointId]
"""The checkpoints that the current state descends from: for each generation, all its checkpoints up to this id."""


def is_ancestor(ancestry: Ancestry, *, generation: int, checkpoint: int) -> bool:
    last = ancestry.get(Generation(generation))
    return last is not None and checkpoint <= last


class Source(ABC):
    kind: str

    def describe(self) -> JsonValue:
        """The source as JSON, from which ``registry.source_from`` rebuilds it in a slot, without unpickling."""
        return describe_fields(self)

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Return the schema of the records. Called when the graph is built; may read file footers or first lines.

        Raises InputError, ConfigError."""

    @abstractmethod
    def splits(self, parallelism: int) -> tuple[Split, ...]:
        """Enumerate the input. Called once per job, in the coordinator. Ids are unique and stable."""

    @abstractmethod
    def reader(self) -> SourceOperator: ...


class SinkWriter(ABC):
    """Stages the records of one subtask. The loop makes all calls except ``PendingCommit.finish``.

    Call order: open -> restore (0 or 1 times) -> { write (only when ready) | pre_commit, then state }* -> close."""

    @abstractmethod
    def open(self, context: OperatorContext) -> None: ...

    def ready(self) -> bool:
        """Return whether the writer accepts a batch. False means that the background queue of the writer is full. Ask again later. Does not block."""
        return True

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None: ...

    @abstractmethod
    def pre_commit(self, checkpoint: CheckpointId) -> PendingCommit | None:
        """End the epoch at this barrier. Records written from now on belong to the next epoch. Return None if the epoch is empty."""

    def state(self) -> JsonValue:
        """Return a small state as of the last ``pre_commit``, to store in the snapshot. None: no state."""
        return None

    def restore(self, states: Sequence[JsonValue]) -> None:
        """Continue from the states of the writers that this writer replaces."""
        raise AssertionError(f"{type(self).__name__} has no state to restore")

    def close(self) -> None:
        """Release resources. Output that is staged but not pre-committed is discarded."""


class PendingCommit(Protocol):
    def finish(self) -> Sequence[JsonValue]:
        """Flush and fsync, on the snapshot thread. Returns the payloads of the committables.

        A second call, after an aborted checkpoint, returns the same payloads."""
        ...


class Committer(ABC):
    """Commits, aborts or revokes what writers staged. Runs in the coordinator. Every method is idempotent.

    Call order when a generation is prepared: claim -> commit (again) -> revoke* -> reinstate* -> abort_after. Then commit*.

    A coordinator may pause before any of these calls and continue after a newer generation has been prepared and has run. So the
    methods take ``before_generation``, the generation being prepared: they must not touch output of this or a newer generation.
    After a newer generation has called ``revoke`` or ``reinstate``, these two methods change nothing for an older
    generation and raise Superseded.
    """

    revocable: bool = False

    def claim(self, *, job: str, sink: str, history: str | None = None) -> None:
        """Mark the target of the output as owned by this sink of this job, before anything in it changes.

        ``history`` identifies the job log: this run must not change what a run with another job log committed. None: unknown.
        Raises SinkError if the target belongs to another job, sink or job log. Sinks without persistent output do nothing."""

    @abstractmethod
    def commit(self, permit: CommitPermit, committables: Sequence[Committable]) -> None:
        """Publish. Skips committables that are already published. Raises SinkError; never drops data silently."""

    @abstractmethod
    def abort_after(self, checkpoint: CheckpointId, *, before_generation: Generation) -> None:
        """Delete what generations older than ``before_generation`` staged for checkpoints after ``checkpoint``, also for subtasks
        that no longer exist. The output of completed checkpoints is committed or revoked before this call, so a sink may delete
        everything that such a generation staged."""

    def revoke(
        self, committables: Sequence[Committable], *, ancestry: Ancestry, branch: str, before_generation: Generation
    ) -> None:
        """Hide the committed output of checkpoints outside ``ancestry`` from readers, and keep it under ``branch``.

        Only revocable sinks implement this. ``committables`` contains the committables that the manifests of
        completed checkpoints outside ``ancestry`` list. Some of them are possibly not published yet. The sink itself
        finds published output of checkpoints that no manifest lists any more. Called before ``abort_after``. Raises
        Superseded, SinkError.
        """
        raise NotImplementedError

    def reinstate(self, *, ancestry: Ancestry, branch: str, before_generation: Generation) -> None:
        """Publish revoked output of ``ancestry`` again, regardless of the branch under which it is kept. Raises as ``revoke``."""
        raise NotImplementedError

    def result(self) -> object:
        """Return the value that the sink gives the caller after the end of the job, for example the table of a ``collect`` sink."""
        return None


class Sink(ABC):
    kind: str

    def describe(self) -> JsonValue:
        """The sink as JSON, from which ``registry.sink_from`` rebuilds it in a slot, without unpickling."""
        return describe_fields(self)

    @abstractmethod
    def check(self, schema: pa.Schema) -> None:
        """Raise an error when the graph is built if this sink cannot write, for example because of an unwritable
        directory or an unsupported type.
        """

    @abstractmethod
    def writer(self) -> SinkWriter: ...

    @abstractmethod
    def committer(self) -> Committer: ...


def describe_fields(connector: Any) -> dict[str, JsonValue]:
    """``{"kind": ..., <the dataclass fields>}``."""
    fields = {field.name: to_json(getattr(connector, field.name)) for field in dataclasses.fields(connector)}
    return {"kind": connector.kind, **fields}
