"""What a plan would do, as checkpoint storage has it. Reads, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from weir.errors import CheckpointError, ConfigError, StorageError
from weir.protocol import codec
from weir.protocol.ids import CheckpointId
from weir.protocol.logview import LogView
from weir.protocol.manifest import Manifest
from weir.storage.base import CheckpointStorage
from weir.storage.inspection import verify
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout
from weir.storage.manifests import read_manifest
from weir.storage.open import open_storage
from weir_backend.recovery.schemas import Inspection, Origin, SinkEffect, SourcePosition
from weir_backend.recovery.sinks import records_in, sinks_of
from weir_workers.checkpoints import elsewhere
from weir_workers.checkpoints.fitting import Fit, Version, fit

SPLITS_SHOWN = 50
MANIFESTS_COUNTED = 200
"""What more checkpoints than that have committed is not counted, as each manifest has to be read."""
BYTES_AT_ONCE, FILES_AT_ONCE = 1 << 30, 500
"""A checkpoint with more than that is read by a verification, in parts: one task could not come to its end."""
_UNREADABLE = (CheckpointError, StorageError, ConfigError)


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found when all files of the checkpoint were read. ``damage`` None: they are whole."""

    damage: str | None


@dataclass(frozen=True, slots=True)
class Subject:
    """``directory``: of the job's checkpoints. ``wanted``: the version that is to run; None: its graph is not known. ``checkpoint``,
    ``anew``, ``origin``: as the plan's preview says where it begins. ``allowed``: where ``origin`` may be. ``maker``: the version that
    has taken the checkpoint, if it is one of this job. ``verified``: by a verification, lately; None: by none."""

    directory: str
    wanted: Version | None
    checkpoint: int | None
    anew: bool
    origin: str | None
    origin_checkpoint: int | None
    allowed: tuple[str, ...]
    maker: Version | None = None
    verified: Verified | None = None

    @property
    def job(self) -> str:
        """As its code calls it, which names its log. Raises ConfigError."""
        if self.wanted is None:
            raise ConfigError("the graph of the job is not known, so its checkpoints cannot be found")
        return str(self.wanted.graph["logical"]["job"])

    @property
    def sinks(self) -> list[SinkEffect]:
        graph = self.wanted.graph if self.wanted is not None else None
        return [SinkEffect(sink=uid, kind=kind, revocable=revocable) for uid, kind, revocable in sinks_of(graph)] if graph else []


@dataclass(frozen=True, slots=True)
class _Seen:
    """The job's storage, and its log as it was read."""

    storage: CheckpointStorage
    layout: JobLayout
    view: LogView


def invalid(subject: Subject, misfit: str) -> Inspection:
    return _said(subject, misfit=misfit)


def newest_of(subject: Subject) -> int | None:
    """Number of the checkpoint of this job that the plan goes on with. None: of another job, of none, or nobody can say."""
    if subject.checkpoint is not None or subject.anew or subject.origin is not None:
        return subject.checkpoint
    try:
        newest = _see(subject).view.newest
    except _UNREADABLE:
        return None
    return int(newest.checkpoint) if newest is not None else None


def look_into(subject: Subject) -> Inspection | None:
    """None: its checkpoint is large, and has to be verified first."""
    try:
        if subject.origin is not None:
            return _from_elsewhere(subject, subject.origin)
        if subject.anew:
            seen = _see(subject)
            left = seen.view.left_behind_by(None)
            return _said(subject, abandoned=list(left), sinks=_counted(subject, seen, left))
        if subject.checkpoint is not None:
            return _going_back(subject, CheckpointId(subject.checkpoint))
    except _UNREADABLE as error:
        return _said(subject, whole=False, damage=str(error))
    return _going_on(subject)


def _going_back(subject: Subject, checkpoint: CheckpointId) -> Inspection | None:
    seen = _see(subject)
    manifest = read_manifest(seen.storage, seen.layout, seen.view.restore_point(checkpoint))
    files = manifest.referenced_files()
    if len(files) <= FILES_AT_ONCE and sum(file.bytes for file in files) <= BYTES_AT_ONCE:
        problems = verify(seen.storage, seen.layout, checkpoint).problems
        damage = "; ".join(f"{one.path} {one.problem}" for one in problems[:3]) or None
    elif subject.verified is not None:
        damage = subject.verified.damage
    else:
        return None
    line = seen.view.ancestry(checkpoint)
    left = seen.view.left_behind_by(checkpoint)
    again = [one for one in line if one > manifest.published_up_to]
    return _said(
        subject,
        manifest,
        whole=damage is None,
        damage=damage,
        files=len(files),
        bytes=sum(file.bytes for file in files),
        abandoned=list(left),
        returning=sorted(set(line) - set(seen.view.current)),
        again=again,
        sinks=_counted(subject, seen, [*left, *again]),
    )


def _from_elsewhere(subject: Subject, path: str) -> Inspection:
    found = elsewhere.look(path, subject.origin_checkpoint, job=subject.job, allowed=subject.allowed)
    foreign, report = found.foreign, found.report
    seen = _see(subject)
    left = seen.view.left_behind_by(None)
    return _said(
        subject,
        foreign.manifest,
        whole=report.intact,
        damage="; ".join(f"{one.path} {one.problem}" for one in report.problems[:3]) or None,
        files=report.files,
        bytes=report.bytes,
        abandoned=list(left),
        sinks=_counted(subject, seen, left),
        origin=Origin(
            job=foreign.place.layout.job,
            checkpoint=foreign.record.checkpoint,
            completed_at=datetime.fromtimestamp(foreign.record.timestamp_ms / 1_000, UTC),
            state_bytes=foreign.record.state_bytes,
            is_savepoint=foreign.record.is_savepoint,
        ),
    )


def _going_on(subject: Subject) -> Inspection:
    """With the checkpoint that the job will be stopped with, which is of the same graph as its newest one."""
    try:
        seen = _see(subject)
        newest = seen.view.newest
        manifest = read_manifest(seen.storage, seen.layout, newest) if newest is not None else None
    except _UNREADABLE as error:
        return _said(subject, notes=[f"whether its state fits is not known, as its checkpoints cannot be looked into: {error}"])
    found = _fits(subject, manifest) if manifest is not None else Fit(None)
    # Positions are those of a checkpoint that is not there yet.
    return _said(subject, misfit=found.misfit, notes=list(found.notes))


def _see(subject: Subject) -> _Seen:
    storage, layout = open_storage(subject.directory), JobLayout(subject.job)
    return _Seen(storage, layout, JobLog(storage, layout).read()[0])


def _counted(subject: Subject, seen: _Seen, checkpoints: Iterable[CheckpointId]) -> list[SinkEffect]:
    """With how many records those that take nothing back have handed on with these checkpoints."""
    numbers = sorted(set(checkpoints))
    kinds = {sink.sink: sink.kind for sink in subject.sinks if not sink.revocable}
    records: dict[str, int | None] = dict.fromkeys(kinds)
    if kinds and len(numbers) <= MANIFESTS_COUNTED:
        # One that is damaged, or that the job has retired just now: going back behind it is possible, counting is not.
        with suppress(*_UNREADABLE):
            handed_on = list(_handed_on(seen, numbers))
            for uid, kind in kinds.items():
                counts = [records_in(kind, payload) for sink, payload in handed_on if sink == uid]
                records[uid] = sum(one for one in counts if one is not None) if None not in counts else None
    return [sink.model_copy(update={"records": records.get(sink.sink)}) for sink in subject.sinks]


def _handed_on(seen: _Seen, checkpoints: Iterable[CheckpointId]) -> Iterator[tuple[str, Any]]:
    """Sink and payload of each committable, once. Raises CheckpointError."""
    known: set[tuple[Any, ...]] = set()
    for number in checkpoints:
        manifest = read_manifest(seen.storage, seen.layout, seen.view.restore_point(number))
        for one in manifest.committables():
            # A later manifest names it, too, if its writer has not heard of the earlier one.
            identity = (one.sink, one.generation, one.checkpoint, one.writer)
            if identity not in known:
                known.add(identity)
                yield one.sink, one.payload


def _fits(subject: Subject, manifest: Manifest) -> Fit:
    return fit(manifest, subject.wanted, maker=subject.maker) if subject.wanted is not None else Fit(None)


def _said(subject: Subject, manifest: Manifest | None = None, **what: Any) -> Inspection:
    """``manifest``: what it goes on with, if that is known."""
    positions: dict[str, list[Any]] = {}
    notes: list[str] = what.pop("notes", [])
    if manifest is not None:
        for operator in manifest.operators():
            if operator.splits:
                positions.setdefault(operator.operator, []).extend(codec.to_json(split) for split in operator.splits)
        found = _fits(subject, manifest)
        what["misfit"], notes = found.misfit, [*notes, *found.notes]
    notes = [
        *notes,
        *(f"{len(splits)} unfinished splits of {uid}" for uid, splits in sorted(positions.items()) if len(splits) > SPLITS_SHOWN),
    ]
    empty: dict[str, Any] = {"whole": True, "damage": None, "files": 0, "bytes": 0, "abandoned": [], "returning": []}
    empty["sinks"] = subject.sinks
    return Inspection(
        **(empty | what),
        sources=[SourcePosition(source=uid, splits=splits[:SPLITS_SHOWN]) for uid, splits in sorted(positions.items())],
        notes=notes,
    )
