"""Listing and verifying checkpoints, for the command line and the control plane. Read-only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from weir.errors import CheckpointError
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.log_view import CheckpointRecord, CheckpointStatus
from weir.protocol.manifest import Manifest
from weir.protocol.paths import decode_segment
from weir.storage.base import CheckpointStorage
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout, log_number
from weir.storage.manifests import read_manifest
from weir.storage.state_files import StateFileChecker

_SEGMENT = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class CheckpointInfo:
    """A completed checkpoint.

    ``state_bytes`` is the size of all files that a restore needs. ``timestamp_ms`` is the time of completion, since 1970.
    """

    checkpoint: CheckpointId
    generation: Generation
    branch: str
    timestamp_ms: int
    state_bytes: int
    is_savepoint: bool
    status: CheckpointStatus
    pinned: bool


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A problem with a file. ``path`` is relative to the storage root. ``problem`` is a predicate such as "is missing"."""

    path: str
    problem: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    checkpoint: CheckpointId
    files: int
    """The number of state files that were read and compared with their checksums, without the manifest."""
    bytes: int
    problems: tuple[FileProblem, ...]

    @property
    def intact(self) -> bool:
        return not self.problems


def list_jobs(storage: CheckpointStorage) -> tuple[str, ...]:
    """Return the names of the jobs with a log in this storage, sorted.

    A very long name is returned in the form of ``encode_segment``, which also identifies the job.
    """
    jobs: set[str] = set()
    for stored in storage.list(""):
        segment, _, rest = stored.path.partition("/")
        if log_number(rest) is not None and _SEGMENT.fullmatch(segment):
            jobs.add(decode_segment(segment))
    return tuple(sorted(jobs))


def list_checkpoints(storage: CheckpointStorage, layout: JobLayout) -> tuple[CheckpointInfo, ...]:
    """Return every completed checkpoint in the log, oldest first. Raise CheckpointError if the log cannot be read."""
    view, _ = JobLog(storage, layout).read()
    pinned = set(view.pinned)

    def info(record: CheckpointRecord) -> CheckpointInfo:
        status = view.status(record.checkpoint)
        assert status is not None, "a record of the view has a status"
        return CheckpointInfo(
            checkpoint=record.checkpoint,
            generation=record.generation,
            branch=record.branch,
            timestamp_ms=record.timestamp_ms,
            state_bytes=record.state_bytes,
            is_savepoint=record.is_savepoint,
            status=status,
            pinned=record.checkpoint in pinned,
        )

    return tuple(info(record) for record in sorted((*view.retired, *view.kept), key=lambda record: record.checkpoint))


def verify(storage: CheckpointStorage, layout: JobLayout, checkpoint: CheckpointId) -> VerifyReport:
    """Read every file of ``checkpoint`` and compare it with its checksum. ``verify`` reads one file at a time, and reads large
    files in parts.

    The report lists damaged and missing files. Raise CheckpointError if the checkpoint does not exist. Also raise CheckpointError
    if a file is missing or damaged because a running job has retired the checkpoint during the verification.
    """
    log = JobLog(storage, layout)
    report = _verify(storage, layout, log.read()[0].restore_point(checkpoint))
    if not report.intact:
        # A running job may have retired the checkpoint and deleted its files. If so, raise CheckpointError.
        log.read()[0].restore_point(checkpoint)
    return report


def verify_restorable(storage: CheckpointStorage, layout: JobLayout) -> Iterator[VerifyReport]:
    """Verify all restorable checkpoints, except those that a running job retires in the meantime. Raise CheckpointError if the log
    cannot be read."""
    log = JobLog(storage, layout)
    for record in log.read()[0].kept:
        try:
            yield verify(storage, layout, record.checkpoint)
        except CheckpointError:
            if log.read()[0].find(record.checkpoint) is not None:
                raise


def read_checkpoint(storage: CheckpointStorage, layout: JobLayout, record: CheckpointRecord) -> Manifest:
    """Return the manifest of ``record``, which was read from the log. Raise CheckpointError if the manifest is missing or damaged,
    or if a running job has retired the checkpoint since the log was read."""
    try:
        return read_manifest(storage, layout, record)
    except CheckpointError:
        JobLog(storage, layout).read()[0].restore_point(record.checkpoint)
        raise


def _verify(storage: CheckpointStorage, layout: JobLayout, record: CheckpointRecord) -> VerifyReport:
    checkpoint = record.checkpoint
    try:
        manifest = read_manifest(storage, layout, record)
    except CheckpointError as error:
        return VerifyReport(checkpoint, 0, 0, (FileProblem(layout.absolute(record.manifest_path), str(error)),))
    problems: list[FileProblem] = []
    files, checker = manifest.referenced_files(), StateFileChecker(storage, layout)
    for file in files:
        problem = checker.verify(file)
        if problem:
            problems.append(FileProblem(layout.absolute(file.path), problem))
    # All files of a missing pack have the same problem, which is reported once.
    return VerifyReport(checkpoint, len(files), sum(file.bytes for file in files), tuple(dict.fromkeys(problems)))
