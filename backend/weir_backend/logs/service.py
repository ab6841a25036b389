"""Reading a driver's log where it lies: in the data directory, which the API shares with the workers of an embedded platform."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from weir_backend.errors import Conflict, Gone, NotFound
from weir_backend.models import Run

PIECE_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class Piece:
    """``size``: of the log as it is now. ``next``: where to go on."""

    data: bytes
    size: int
    next: int


def piece(session: Session, data_dir: Path, run_id: int, offset: int) -> Piece:
    """``offset`` in bytes; negative: so many from the end. Beyond the end (the log was cut meanwhile): from the beginning.

    Raises NotFound, Conflict if the log lies on another machine, Gone if it was removed.
    """
    run = session.get(Run, run_id)
    if run is None:
        raise NotFound("no-run", f"there is no run {run_id}")
    if run.files_cleared_at is not None:
        raise Gone(
            "log-removed",
            f"the log of run {run.number} was removed on {run.files_cleared_at:%Y-%m-%d}",
            "WEIR_RUN_FILES_KEPT_DAYS says how long logs are kept; what happened is in the job's events",
        )
    path = data_dir / "runs" / run.directory / "driver.log"
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            begin = max(0, size + offset) if offset < 0 else (offset if offset <= size else 0)
            file.seek(begin)
            data = file.read(PIECE_BYTES)
    except FileNotFoundError:
        if run.submitted_at is None:
            return Piece(b"", 0, 0)
        raise Conflict(
            "log-elsewhere",
            f"the log of run {run.number} is not on this machine, but where its driver was started",
            f"look there: {path}",
        ) from None
    return Piece(data, size, begin + len(data))
