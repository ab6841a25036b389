"""Inspect checkpoint storage for the preview of a plan. This module only reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from weir.errors import CheckpointError, ConfigError, StorageError
from weir.protocol.ids import CheckpointId
from weir.protocol.log_view import LogView
from weir.protocol.manifest import Manifest, epoch_of
from weir.storage.base import CheckpointStorage
from weir.storage.inspection import verify
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage
from weir.storage.manifests import read_manifest
from weir_backend.recovery.schemas import ExternalCheckpointRead, PlanInspection, SinkEffect, SourcePosition
from weir_backend.recovery.sinks import records_in, sinks_of
from weir_workers.checkpoints import external
from weir_workers.checkpoints.compatibility import CompatibilityResult, Version, fit

SPLITS_SHOWN = 50
MANIFESTS_COUNTED = 200
"""If a plan affects more checkpoints than MANIFESTS_COUNTED, the inspection does not count the records of sinks. To count these records,
the inspection would have to read the manifest of each checkpoint."""
BYTES_AT_ONCE, FILES_AT_ONCE = 1 << 30, 500
"""A checkpoint of the job that exceeds one of these limits is verified in parts before the inspection. A single task could not read such a
checkpoint within the time limit of a task."""
_UNREADABLE = (CheckpointError, StorageError, ConfigError)


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The result of reading all files of a checkpoint. ``damage`` is None if the files are intact."""

    damage: str | None


@dataclass(frozen=True, slots=True)
class InspectionRequest:
    """What to inspect. As in the preview of the plan, the run starts from ``checkpoint``, from ``path``, or without state
    (``without_state``). If none of these fields is set, the plan stops the job with a new checkpoint, and the run resumes from this
    checkpoint."""

    directory: str
    """The checkpoint directory of the job."""
    wanted: Version | None
    """The version that will run, or None if its graph is unknown."""
    checkpoint: int | None
    without_state: bool
    path: str | None
    checkpoint_at_path: int | None
    allowed: tuple[str, ...]
    """The directories below which ``path`` is allowed."""
    maker: Version | None = None
    """The version that took the checkpoint, if the checkpoint belongs to this job."""
    verified: VerificationResult | None = None
    """A recent verification of the checkpoint, if any."""

    @property
    def job(self) -> str:
        """The name of the job in its code, which is also the name of its job log. Raises ConfigError."""
        if self.wanted is None:
            raise ConfigError("the job has no compiled graph, so its checkpoints cannot be found")
        return str(self.wanted.graph["logical"]["job"])

    @property
    def sinks(self) -> list[SinkEffect]:
        graph = self.wanted.graph if self.wanted is not None else None
        return [SinkEffect(sink=uid, kind=kind, revocable=revocable) for uid, kind, revocable in sinks_of(graph)] if graph else []


@dataclass(frozen=True, slots=True)
class _Storage:
    """The checkpoint storage of the job, and the log view of its job log."""

    storage: CheckpointStorage
    layout: JobLayout
    view: LogView


def invalid(subject: InspectionRequest, incompatibility: str) -> PlanInspection:
    return _inspection(subject, incompatibility=incompatibility)


def newest_of(subject: InspectionRequest) -> int | None:
    """Return the checkpoint of this job that the plan restores. Return None if the plan restores an external checkpoint or no state, or if
    the job log cannot be read."""
    if subject.checkpoint is not None or subject.without_state or subject.path is not None:
        return subject.checkpoint
    try:
        newest = _open(subject).view.newest
    except _UNREADABLE:
        return None
    return int(newest.checkpoint) if newest is not None else None


def inspect_storage(subject: InspectionRequest) -> PlanInspection | None:
    """Return the inspection, or None if the checkpoint is so large that it must be verified first."""
    try:
        if subject.path is not None:
            return _inspect_external(subject, subject.path)
        if subject.without_state:
            seen = _open(subject)
            left = seen.view.abandoned_by(None)
            return _inspection(subject, abandoned=list(left), sinks=_sink_effects(subject, seen, left))
        if subject.checkpoint is not None:
            return _inspect_own(subject, CheckpointId(subject.checkpoint))
    except _UNREADABLE as error:
        return _inspection(subject, intact=False, damage=str(error))
    return _inspect_newest(subject)


def _inspect_own(subject: InspectionRequest, checkpoint: CheckpointId) -> PlanInspection | None:
    seen = _open(subject)
    manifest = read_manifest(seen.storage, seen.layout, seen.view.restore_point(checkpoint))
    files = manifest.referenced_files()
    if len(files) <= FILES_AT_ONCE and sum(file.bytes for file in files) <= BYTES_AT_ONCE:
        problems = verify(seen.storage, seen.layout, checkpoint).problems
        damage = "; ".join(f"{one.path} {one.problem}" for one in problems[:3]) or None
    elif subject.verified is not None:
        damage = subject.verified.damage
    else:
        return None
    ancestry = seen.view.ancestry(checkpoint)
    left = seen.view.abandoned_by(checkpoint)
    published = max(manifest.published_up_to, seen.view.published_up_to(checkpoint))
    recommitted = [one for one in ancestry if one > published]
    return _inspection(
        subject,
        manifest,
        intact=damage is None,
        damage=damage,
        files=len(files),
        bytes=sum(file.bytes for file in files),
        abandoned=list(left),
        reinstated=sorted(set(ancestry) - set(seen.view.current)),
        recommitted=recommitted,
        sinks=_sink_effects(subject, seen, [*left, *recommitted]),
    )


def _inspect_external(subject: InspectionRequest, path: str) -> PlanInspection:
    found = external.find(path, subject.checkpoint_at_path, job=subject.job, allowed=subject.allowed)
    foreign, report = found.foreign, found.report
    seen = _open(subject)
    left = seen.view.abandoned_by(None)
    return _inspection(
        subject,
        foreign.manifest,
        intact=report.intact,
        damage="; ".join(f"{one.path} {one.problem}" for one in report.problems[:3]) or None,
        files=report.files,
        bytes=report.bytes,
        abandoned=list(left),
        sinks=_sink_effects(subject, seen, left),
        external_checkpoint=ExternalCheckpointRead(
            job=foreign.location.layout.job,
            checkpoint=foreign.record.checkpoint,
            completed_at=datetime.fromtimestamp(foreign.record.timestamp_ms / 1_000, UTC),
            state_bytes=foreign.record.state_bytes,
            is_savepoint=foreign.record.is_savepoint,
        ),
    )


def _inspect_newest(subject: InspectionRequest) -> PlanInspection:
    """Inspect a plan that stops the job with a checkpoint and resumes from this checkpoint. The checkpoint does not exist yet, but will
    have the same graph as the newest checkpoint."""
    try:
        seen = _open(subject)
        newest = seen.view.newest
        manifest = read_manifest(seen.storage, seen.layout, newest) if newest is not None else None
    except _UNREADABLE as error:
        return _inspection(
            subject, notes=[f"the compatibility of the job's state is unknown, because its checkpoints cannot be read: {error}"]
        )
    found = _compatibility(subject, manifest) if manifest is not None else CompatibilityResult(None)
    # The positions are unknown, because the checkpoint does not exist yet.
    return _inspection(subject, incompatibility=found.incompatibility, notes=list(found.notes))


def _open(subject: InspectionRequest) -> _Storage:
    storage, layout = open_storage(subject.directory), JobLayout(subject.job)
    return _Storage(storage, layout, JobLog(storage, layout).read()[0])


def _sink_effects(subject: InspectionRequest, seen: _Storage, checkpoints: Iterable[CheckpointId]) -> list[SinkEffect]:
    """Return the sinks. For each sink that is not revocable, the result contains the number of records that the sink committed in
    ``checkpoints``, if this number is known."""
    numbers = sorted(set(checkpoints))
    kinds = {sink.sink: sink.kind for sink in subject.sinks if not sink.revocable}
    records: dict[str, int | None] = dict.fromkeys(kinds)
    if kinds and len(numbers) <= MANIFESTS_COUNTED:
        # Without a readable manifest the number of records stays unknown, but the rollback is still possible.
        with suppress(*_UNREADABLE):
            committed = list(_committed_payloads(seen, numbers))
            for uid, kind in kinds.items():
                counts = [records_in(kind, payload) for sink, payload in committed if sink == uid]
                records[uid] = sum(one for one in counts if one is not None) if None not in counts else None
    return [sink.model_copy(update={"records": records.get(sink.sink)}) for sink in subject.sinks]


def _committed_payloads(seen: _Storage, checkpoints: Iterable[CheckpointId]) -> Iterator[tuple[str, Any]]:
    """Yield the sink and the payload of each committable that the commits of ``checkpoints`` publish. Omit committables of earlier epochs, which a
    manifest can also contain. Raises CheckpointError."""
    for number in checkpoints:
        manifest = read_manifest(seen.storage, seen.layout, seen.view.restore_point(number))
        before = [one for one in seen.view.ancestry(number) if one < number]
        for committable in epoch_of(manifest.committables(), after=max(before, default=CheckpointId(0))):
            yield committable.sink, committable.payload


def _compatibility(subject: InspectionRequest, manifest: Manifest) -> CompatibilityResult:
    return fit(manifest, subject.wanted, maker=subject.maker) if subject.wanted is not None else CompatibilityResult(None)


def _inspection(subject: InspectionRequest, manifest: Manifest | None = None, **what: Any) -> PlanInspection:
    """Build the inspection. ``manifest`` is the manifest of the restored checkpoint, if known."""
    positions: dict[str, list[Any]] = {}
    notes: list[str] = what.pop("notes", [])
    if manifest is not None:
        for operator in manifest.operators():
            if operator.splits:
                positions.setdefault(operator.operator, []).extend(
                    {"id": split.id, "payload": split.payload, "position": split.position} for split in operator.splits
                )
        found = _compatibility(subject, manifest)
        what["incompatibility"], notes = found.incompatibility, [*notes, *found.notes]
    notes = [
        *notes,
        *(f"{len(splits)} unfinished splits of {uid}" for uid, splits in sorted(positions.items()) if len(splits) > SPLITS_SHOWN),
    ]
    empty: dict[str, Any] = {"intact": True, "damage": None, "files": 0, "bytes": 0, "abandoned": [], "reinstated": []}
    empty["sinks"] = subject.sinks
    return PlanInspection(
        **(empty | what),
        sources=[SourcePosition(source=uid, splits=splits[:SPLITS_SHOWN]) for uid, splits in sorted(positions.items())],
        notes=notes,
    )
