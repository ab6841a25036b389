"""``weir run --from-path``: begin with a checkpoint from elsewhere. It is looked at, then shown, and copied once that was agreed to."""

from __future__ import annotations

import time
import uuid

from weir.api.job import Job
from weir.cli.logs import tell
from weir.cli.questions import confirm_leaving
from weir.cli.tables import size_text
from weir.coordinator.start import FromCheckpoint, StartMode
from weir.errors import RestoreError
from weir.link.run import RunLink
from weir.protocol.events import IMPORTED, CheckpointCompleted
from weir.protocol.ids import CheckpointId
from weir.spark.job_plan import check_fits
from weir.spark.launch import RunOptions
from weir.storage.importing import Imported, Place, already_imported, find_foreign, import_checkpoint
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout
from weir.storage.open import open_storage
from weir.storage.places import locate, parse_name
from weir.storage.probe import probe


def begin_elsewhere(job: Job, path: str, options: RunOptions, *, yes: bool, link: RunLink | None) -> StartMode:
    """Once this returns, the job goes on with it. Before that nothing was done to it: whatever this raises, it is where it was.

    Raises ConfigError, CheckpointError, RestoreError if the job's graph does not fit, StorageError.
    """
    where, number = parse_name(path)
    foreign = find_foreign(locate(where), number, job=job.name)
    try:
        check_fits(job, foreign.manifest, options)
    except RestoreError as error:
        raise RestoreError(f"{foreign.name} cannot be the beginning of job '{job.name}': {error}") from None
    target = Place(open_storage(options.checkpoint_dir, dict(options.storage_options)), JobLayout(job.name))
    view, _ = JobLog(target.storage, target.layout).read()
    left = frozenset[CheckpointId]()
    if already_imported(target, view, foreign) is None:
        left = confirm_leaving(
            job,
            view.left_behind_by(None),
            f"To begin with {foreign.name} abandons what job '{job.name}' has",
            yes=yes,
            question="Begin with it?",
        )
    probe(target.storage)
    found = import_checkpoint(
        foreign, target, leaving=None if yes else left, nonce=uuid.uuid4().hex, timestamp_ms=time.time_ns() // 1_000_000
    )
    _tell(found, foreign.name, link)
    # Nothing of ours is left behind by this start any more; if somebody else has gone on meanwhile, that was not agreed to.
    return FromCheckpoint(found.checkpoint, leaving=frozenset())


def _tell(found: Imported, name: str, link: RunLink | None) -> None:
    if link is not None:
        # Whoever imported it may have died before this was heard: told twice it is one checkpoint all the same.
        link.tell(
            CheckpointCompleted(found.checkpoint, found.generation, IMPORTED, 0, found.state_bytes, (), found.bytes or None)
        )
    size = size_text(found.bytes)
    tell(f"{name} is checkpoint {found.checkpoint} of this job now ({size} copied); it is kept like a savepoint")
