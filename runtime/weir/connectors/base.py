"""The interfaces that sources and sinks implement.

A source enumerates splits. After a restore, a reader resumes each split at the position in the checkpoint, so the input must be
replayable. A sink writes in two phases: a writer stages output, and the coordinator commits the staged output when the
checkpoint is completed. Every commit needs a ``CommitPermit``, and only the coordinator's kernel makes permits.
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
from weir.protocol.ids import Attempt, CheckpointId, Generation
from weir.protocol.snapshots import Committable, JsonValue, Split

Ancestry: TypeAlias = Mapping[Generation, CheckpointId]
"""Maps each generation in the ancestry of the current state to the id of its newest checkpoint in this ancestry."""


Epochs: TypeAlias = Mapping[CheckpointId, Sequence[Committable]]
"""Maps each completed checkpoint to the committables that the commit of the checkpoint publishes."""


@dataclasses.dataclass(frozen=True, slots=True)
class MissingOutput:
    """Output that ``checkpoint`` published and that a consumer has since removed from the output target. ``items`` is the
    number of removed files or messages."""

    checkpoint: CheckpointId
    items: int
    records: int


def is_ancestor(ancestry: Ancestry, *, generation: int, checkpoint: int) -> bool:
    last = ancestry.get(Generation(generation))
    return last is not None and checkpoint <= last


@dataclasses.dataclass(frozen=True, slots=True)
class Discovered:
    """The result of ``Source.discover``. ``splits``: the new splits. ``known``: the argument for the next call, as JSON.
    ``warnings``: sentences for the user about input that the source does not read."""

    splits: tuple[Split, ...]
    known: JsonValue
    warnings: tuple[str, ...] = ()


class Source(ABC):
    """A source of splits.

    A source either is bounded, or discovers splits while the job runs. The coordinator lists a bounded source once, with
    ``splits``. If ``discover_every_ms`` is not None, it calls ``discover`` with ``known_after(())`` when the job starts, and then
    again and again, outside its loop. Such a source never ends: the job runs until it is stopped.

    The value ``known`` describes the input for which ``discover`` has already returned splits. The coordinator stores ``known``
    in the checkpoint storage, together with the splits that were returned with it. A restore continues with the ``known`` of the
    newest split in the checkpoint. So each part of the input is in exactly one split of the restored job.
    """

    kind: str

    def describe(self) -> JsonValue:
        """Return the source as JSON, from which ``registry.source_from`` rebuilds the source in a slot, without unpickling."""
        return describe_fields(self)

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Return the schema of the records. The graph builder calls this method. To find the schema, an implementation can read
        the footers or first lines of input files.

        Raises InputError, ConfigError."""

    def resolved(self) -> Source:
        """Return a source that stores the schema of its records. The methods ``schema`` and ``describe`` of the returned source
        do not read the input. The graph builder calls ``resolved`` once.

        Raises InputError, ConfigError."""
        return self

    @abstractmethod
    def splits(self, parallelism: int) -> tuple[Split, ...]:
        """Enumerate the splits of the input. The coordinator calls this method when the job starts without state, and stores the
        splits in a split list. Each split has a unique id. The coordinator assigns the splits in the returned order."""

    @property
    def discover_every_ms(self) -> int | None:
        """The time between two calls of ``discover``, or None for a bounded source."""
        return None

    def known_after(self, splits: Sequence[Split]) -> JsonValue:
        """Return the ``known`` for the first call of ``discover``. ``splits``: all splits that ``splits`` has returned, if a
        restored job begins to discover splits; otherwise empty."""
        raise NotImplementedError

    def discover(self, known: JsonValue, parallelism: int) -> Discovered:
        """Return the splits of input that is not in ``known``. Ids of splits are unique among all splits of the source.

        The coordinator can drop the result, for example after a failure, and call ``discover`` again with the same or an older
        ``known``. After a failure, a call in another thread can still be running, so this method must not change the source.

        If a restored job no longer discovers splits, the coordinator calls this method once more, to read the rest of the input.
        Raises InputError if the input cannot be listed. The coordinator then retries later, and the job continues."""
        raise NotImplementedError

    @abstractmethod
    def reader(self) -> SourceOperator: ...


class SinkWriter(ABC):
    """The part of a sink that stages the records of one subtask. The slot's loop calls all methods of a writer. The snapshot thread
    calls ``PendingCommit.finish``.

    Call order: open -> restore (0 or 1 times) -> { write (only when ready) | pre_commit, then state }* -> close."""

    @abstractmethod
    def open(self, context: OperatorContext) -> None: ...

    def ready(self) -> bool:
        """Return whether the writer can accept another batch without blocking. False means that the writer's background queue is
        full."""
        return True

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None: ...

    @abstractmethod
    def pre_commit(self, checkpoint: CheckpointId) -> PendingCommit | None:
        """End the epoch at the barrier of ``checkpoint``. Later records belong to the next epoch. Return None if the ended epoch is
        empty."""

    def state(self) -> JsonValue:
        """Return the state after the last ``pre_commit``, or None if the writer has no state. Every snapshot contains the
        state of the writer, so this state must be small."""
        return None

    def restore(self, states: Sequence[JsonValue]) -> None:
        """Continue from the states of the writers that this writer replaces."""
        raise AssertionError(f"{type(self).__name__} has no state to restore")

    def close(self) -> None:
        """Release resources, and discard output that is not pre-committed."""


class PendingCommit(Protocol):
    def finish(self) -> Sequence[JsonValue]:
        """Flush and fsync the output of the epoch. Returns the payloads of the committables. The snapshot thread calls this method.

        If the checkpoint is aborted, ``finish`` can be called again and returns the same payloads."""
        ...


class Committer(ABC):
    """The part of a sink that commits, aborts or revokes the output of writers. Runs in the coordinator. Every method is
    idempotent.

    The calls of one committer never overlap, but consecutive calls can run in different threads. The committers of different
    sinks commit the same checkpoint at the same time. If one of them fails, the retry calls ``commit`` of all of them again.

    The coordinator calls ``published`` before a generation starts. If the user chooses to revoke unknown output, the
    coordinator calls ``revoke`` and ``reinstate`` after ``published``. While the generation is prepared, the call order is:
    claim -> revoke* -> reinstate* -> commit* -> abort_after. During the preparation, the coordinator commits all unpublished
    checkpoints in the ancestry of the restored checkpoint. While the generation runs, the coordinator calls ``commit`` for
    completed checkpoints.

    The job log records each publication. **The coordinator never repeats a commit that the job log records as published.** The
    coordinator repeats a commit only after a failure between the commit and its log entry. A repeated commit must not fail if a
    consumer has already removed the published output. Therefore, if consumers can remove the output of a sink, the sink keeps a
    durable record of each publication in the target.

    The coordinator of an old generation can pause before any call, and continue after a newer generation has run. Therefore, no
    method may change the output of newer generations. The parameter ``before`` is the attempt that is being prepared. A method
    with the parameter ``before`` changes only output of attempts that are older than ``before``. If the output is persistent,
    ``abort_after`` fences older attempts. After ``abort_after``, the methods ``commit``, ``revoke``, ``reinstate`` and
    ``abort_after`` raise Superseded for an older attempt and change nothing.
    """

    revocable: bool = False
    target: str = ""
    """The output target, for messages: a directory, a topic, a table."""

    def published(self, *, job: str, sink: str, history: str | None = None) -> frozenset[tuple[Generation, CheckpointId]] | None:
        """Return a pair (generation, checkpoint) for each published epoch in the target, or None if the sink cannot list its
        output. A pair with checkpoint 0 does not represent an epoch: it means that the generation has prepared the target.
        ``published`` changes nothing.

        The result includes output that a consumer has removed, if the target still contains a record of the publication. Raises
        SinkError, for example if the target belongs to another job, sink or job log (see ``claim``)."""
        return None

    def claim(self, *, job: str, sink: str, history: str | None = None) -> None:
        """Mark the output target as owned by this sink of this job. The coordinator calls ``claim`` before it changes the
        target in any other way.

        ``history`` is the id of the job log, or None if the id is unknown. A run must not change output that a run with another job
        log has committed. Raises SinkError if the target belongs to another job, sink or job log. Sinks without persistent output
        do nothing."""

    @abstractmethod
    def commit(self, permit: CommitPermit, committables: Sequence[Committable]) -> None:
        """Publish one epoch: the output after the previous published checkpoint, up to ``permit.checkpoint``. Readers should
        see either all output of the epoch or none of it.

        Does nothing if the epoch is already published, even if a consumer has removed the output. Raises Superseded. Raises
        SinkError if data is missing, and never drops data silently."""

    @abstractmethod
    def abort_after(self, checkpoint: CheckpointId, *, before: Attempt) -> None:
        """Delete the output that attempts older than ``before`` have staged for checkpoints after ``checkpoint``. Also delete
        staged output of subtasks that no longer exist. The coordinator commits or revokes the output of completed checkpoints
        before this call, so an implementation can delete all staged output of older attempts. Raises Superseded, SinkError."""

    def discard(self, writer: int, attempt: Attempt, *, after: CheckpointId) -> None:
        """Delete the output that earlier attempts of a writer in the generation of ``attempt`` have staged for checkpoints after
        ``after``. ``writer`` is the index of the writer's subtask, and ``attempt`` is its new attempt.

        The coordinator calls this method when it replaces a slot while the other slots continue. No completed checkpoint contains
        the deleted output. Sinks whose staged output exists only in checkpoints do nothing. Raises SinkError. After an error, the output
        remains staged until ``abort_after`` of the next generation."""

    def revoke(self, epochs: Epochs, *, ancestry: Ancestry, branch: str, before: Attempt) -> Sequence[MissingOutput]:
        """Hide the committed output of checkpoints outside ``ancestry`` from readers, and keep this output under ``branch``.
        Return the output that is no longer in the target, and therefore cannot be revoked.

        Only revocable sinks implement this method. ``epochs`` contains each completed checkpoint that is outside ``ancestry``
        and still has a manifest. Some of these checkpoints may not have been published. An implementation must also find
        published output of checkpoints whose manifests are deleted, because ``epochs`` does not contain that output. The
        coordinator calls ``revoke`` before ``abort_after``. Raises Superseded, SinkError.
        """
        raise NotImplementedError

    def reinstate(self, *, ancestry: Ancestry, branch: str, before: Attempt) -> Sequence[MissingOutput]:
        """Publish the revoked output of all checkpoints in ``ancestry`` again. The revoked output can be under any branch.
        Return the output that cannot be published again, because a consumer removed it before the revocation. Raises
        Superseded, SinkError."""
        raise NotImplementedError

    def result(self) -> object:
        """Return the value that the caller receives after the end of the job, for example the table of a ``collect`` sink."""
        return None


class Sink(ABC):
    kind: str

    def describe(self) -> JsonValue:
        """Return the sink as JSON, from which ``registry.sink_from`` rebuilds the sink in a slot, without unpickling."""
        return describe_fields(self)

    @abstractmethod
    def check(self, schema: pa.Schema) -> None:
        """Raise an error if this sink cannot write, for example because of an unwritable directory or an unsupported type.

        The graph builder calls this method.
        """

    @abstractmethod
    def writer(self) -> SinkWriter: ...

    @abstractmethod
    def committer(self) -> Committer: ...


def describe_fields(connector: Any) -> dict[str, JsonValue]:
    """Return a dict of the connector's kind and its dataclass fields, as JSON."""
    fields = {field.name: to_json(getattr(connector, field.name)) for field in dataclasses.fields(connector)}
    return {"kind": connector.kind, **fields}
