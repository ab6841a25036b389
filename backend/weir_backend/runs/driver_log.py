"""Read the log of a driver from the data directory. On an embedded platform, the API and the workers share this directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from weir_backend.errors import Conflict, Gone, NotFound
from weir_backend.models import Run

CHUNK_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class LogChunk:
    """A chunk of the log of a driver. ``size`` is the current size of the whole log in bytes. ``next`` is the offset at which the next chunk
    begins."""

    data: bytes
    size: int
    next: int


def read_chunk(session: Session, data_dir: Path, run_id: int, offset: int) -> LogChunk:
    """Return a chunk of the log of a run's driver. ``offset`` is in bytes. A negative ``offset`` counts from the end of the log. If ``offset`` is
    larger than the log, because the log was truncated, the chunk begins at the start of the log.

    Raises NotFound if the run does not exist, Conflict if the log is on another host, and Gone if the log is deleted.
    """
    run = session.get(Run, run_id)
    if run is None:
        raise NotFound("no-run", f"Run {run_id} does not exist.")
    if run.files_cleared_at is not None:
        raise Gone(
            "log-removed",
            f"The log of run {run.number} was deleted on {run.files_cleared_at:%Y-%m-%d}.",
            "WEIR_RUN_FILES_KEPT_DAYS sets how long logs are kept. Read the events of the job instead.",
        )
    path = data_dir / "runs" / run.directory / "driver.log"
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            begin = max(0, size + offset) if offset < 0 else (offset if offset <= size else 0)
            file.seek(begin)
            data = file.read(CHUNK_BYTES)
    except FileNotFoundError:
        if run.submitted_at is None:
            return LogChunk(b"", 0, 0)
        raise Conflict(
            "log-on-other-host",
            f"The log of run {run.number} is on the host of its driver, not on the host of the API.",
            f"Read {path} on the host of the driver.",
        ) from None
    return LogChunk(data, size, begin + len(data))
