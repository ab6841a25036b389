"""At the end of a run: what it needed beside its checkpoints is removed, and what runs before it have left behind.

Failing harms nobody: the next run does it.
"""

from __future__ import annotations

from collections.abc import Collection

import structlog

from weir.coordinator.progress import Snapshot
from weir.protocol.logview import LogView
from weir.spark.staged_rows import StagedRows
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout
from weir.subtask.shared_storage import SharedStorage

log = structlog.get_logger(__name__)


def tidy_up(rows: StagedRows, mark: SharedStorage, earlier_marks: Collection[str], progress: Snapshot) -> None:
    """``earlier_marks``: of runs that were there before this one. Call it when no slot of this run can start any more."""
    try:
        view, _ = JobLog(rows.storage, JobLayout(rows.job)).read()
        newest = runs_newest_generation(view, progress)
        mark.withdraw(earlier_marks if newest else ())
        if newest:
            rows.sweep(view)
    except Exception as error:  # noqa: BLE001  # what became of the job stands, whatever is left lying about
        log.warning("not everything could be tidied up", reason=f"{type(error).__name__}: {error}")


def runs_newest_generation(view: LogView, progress: Snapshot) -> bool:
    """Known only of a run that has completed a checkpoint in it: ids are never used twice, numbers of generations are asked for twice."""
    record = view.newest
    if record is None or not progress.completed:
        return False
    return record.generation == view.generation and record.checkpoint == progress.completed[-1].checkpoint
