"""What the coordinator does to sinks: commits, commits again after a restore, takes back and gives back, sweeps.

All of it in the sinks' lane. This process may be paused between any two steps and wake up when a newer generation runs the
job; so the log is read again before each step that changes what readers see, and the steps themselves are told the
generation (``Committer``).
"""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import structlog

from weir.connectors.base import Committer
from weir.connectors.registry import sink_from
from weir.coordinator.plan import JobPlan
from weir.errors import CheckpointError
from weir.graph.logical import OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.kernel.checkpoints import CommitPermit
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.joblog import BranchAbandoned, BranchReinstated, Entry
from weir.protocol.logview import LeftBehind, LogView
from weir.protocol.manifest import Manifest
from weir.protocol.snapshots import Committable
from weir.storage.base import CheckpointStorage
from weir.storage.layout import JobLayout
from weir.storage.manifests import read_manifest

log = structlog.get_logger(__name__)

_K = TypeVar("_K")
_T = TypeVar("_T")
CurrentView = Callable[[Generation], LogView]
"""Reads the log. Raises Superseded if a newer generation is in it, StorageError."""


class Publishing:
    """``prepare`` for each generation, then ``commit`` for each of its checkpoints, in order."""

    def __init__(
        self,
        plan: JobPlan,
        storage: CheckpointStorage,
        *,
        current_view: CurrentView,
        append: Callable[[Entry], None],
    ) -> None:
        """``append``: into the log. Raises Superseded, CheckpointError if the entry cannot be, StorageError."""
        self._plan = plan
        self._storage = storage
        self._layout = JobLayout(plan.job)
        self._current_view = current_view
        self._append = append
        self._committers: dict[OperatorUid, Committer] = {}
        """Claimed ones: of the graph that runs, and of sinks that only an earlier graph had."""
        self.confirmed = CheckpointId(0)
        """Everything on the current branch up to here is published."""

    def commit(self, permit: CommitPermit, committables: Iterable[Committable]) -> None:
        """Raises SinkError; nothing counts as published then, and all of it can be done again."""
        self._publish(permit, committables)
        self.confirmed = max(self.confirmed, permit.checkpoint)

    def _publish(self, permit: CommitPermit, committables: Iterable[Committable]) -> None:
        for sink, mine in _grouped(committables, lambda one: one.sink).items():
            self._committers[sink].commit(permit, mine)

    def prepare(self, generation: Generation, permit: CommitPermit | None) -> None:
        """Every step can be done again. Raises Superseded, SinkError, CheckpointError, StorageError."""
        view = self._current_view(generation)
        for sink, committer in self._plan.committers.items():
            self._claim(sink, committer, view)
        restored = permit.checkpoint if permit is not None else None
        if permit is not None:
            self._commit_again(view, permit)
        # Taking back comes before aborting: what is completed and not yet published is staged too, and may be wanted again.
        self._take_back(generation, restored)
        if permit is not None:
            self._give_back(generation, permit)
        self._current_view(generation)
        for committer in self._committers.values():
            committer.abort_after(restored or CheckpointId(0), before_generation=generation)
        self.confirmed = restored or CheckpointId(0)

    def _claim(self, sink: OperatorUid, committer: Committer, view: LogView) -> None:
        committer.claim(job=self._plan.job, sink=sink, history=view.history)
        self._committers[sink] = committer

    def _former(self, manifest: Manifest, view: LogView) -> None:
        """Sinks of the graph that the checkpoint was taken of: the running one may have them no more, but what they committed
        is in the log, and is published, taken back and given back like everybody else's. Those of an imported checkpoint are another
        history's: they are never touched from here."""
        if manifest.imported_from is not None:
            return
        graph = codec.from_json(PhysicalGraph, manifest.graph)
        for operator in graph.logical.operators:
            if operator.kind is OperatorKind.SINK and operator.uid not in self._committers:
                self._claim(operator.uid, sink_from(operator.config).committer(), view)

    # ---- committing again ------------------------------------------------------------------------

    def _commit_again(self, view: LogView, permit: CommitPermit) -> None:
        """Everything on the line up to the restored checkpoint that is not known to be published."""
        restored = self._read(view, permit.checkpoint)
        for checkpoint in view.ancestry(permit.checkpoint):
            if checkpoint > restored.published_up_to:
                manifest = self._read(view, checkpoint)
                self._former(manifest, view)
                self._publish(permit, manifest.committables())

    def _read(self, view: LogView, checkpoint: CheckpointId) -> Manifest:
        return read_manifest(self._storage, self._layout, view.restore_point(checkpoint))

    # ---- going back, and back again (runtime.md, section 4) ----------------------------------------

    def _take_back(self, generation: Generation, restored: CheckpointId | None) -> None:
        """What a restore went back behind. Readers no longer see it."""
        while by_branch := _grouped((view := self._current_view(generation)).abandonment_due, _branch):
            branch, left = next(iter(by_branch.items()))
            committables = [committable for one in left for committable in self._left_behind(view, one.checkpoint)]
            by_sink = _grouped(committables, lambda one: one.sink)
            for sink, committer in self._revocable():
                committer.abandon(by_sink.get(sink, ()), line=view.line(restored), branch=branch, before_generation=generation)
            after = min(one.after for one in left) or None
            entry = BranchAbandoned(generation, branch, after, _ids(left), uuid.uuid4().hex, _wall_ms())
            self._record(entry, lambda now: now.abandonment_due)

    def _give_back(self, generation: Generation, permit: CommitPermit) -> None:
        """What a restore returned to. Readers see it again, all of it: that is looked at before it goes into the log."""
        while by_branch := _grouped((view := self._current_view(generation)).reinstatement_due, _branch):
            branch, back = next(iter(by_branch.items()))
            committables = [committable for one in back for committable in self._left_behind(view, one.checkpoint)]
            revocable = dict(self._revocable())
            for committer in revocable.values():
                committer.reinstate(line=view.line(permit.checkpoint), branch=branch, before_generation=generation)
            self._publish(permit, [committable for committable in committables if committable.sink in revocable])
            entry = BranchReinstated(generation, branch, _ids(back), uuid.uuid4().hex, _wall_ms())
            self._record(entry, lambda now: now.reinstatement_due)

    def _record(self, entry: BranchAbandoned | BranchReinstated, due: Callable[[LogView], tuple[LeftBehind, ...]]) -> None:
        """An earlier try may have written it without hearing of it: then there is nothing left to record."""
        try:
            self._append(entry)
        except CheckpointError:
            if set(entry.checkpoints) & set(_ids(due(self._current_view(entry.generation)))):
                raise

    def _left_behind(self, view: LogView, checkpoint: CheckpointId) -> tuple[Committable, ...]:
        """Of a damaged checkpoint none: what it published the sink finds itself, and going back behind it is the way out."""
        try:
            manifest = self._read(view, checkpoint)
        except CheckpointError as error:
            log.warning("a checkpoint that is left behind cannot be read", checkpoint=checkpoint, reason=str(error))
            return ()
        self._former(manifest, view)
        return manifest.committables()

    def _revocable(self) -> list[tuple[OperatorUid, Committer]]:
        return [(sink, committer) for sink, committer in self._committers.items() if committer.revocable]


def _grouped(many: Iterable[_T], key: Callable[[_T], _K]) -> dict[_K, list[_T]]:
    result: dict[_K, list[_T]] = defaultdict(list)
    for one in many:
        result[key(one)].append(one)
    return result


def _branch(left: LeftBehind) -> str:
    return left.branch


def _ids(many: Sequence[LeftBehind]) -> tuple[CheckpointId, ...]:
    return tuple(one.checkpoint for one in many)


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
