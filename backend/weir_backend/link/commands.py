"""What a run is to do."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from weir.protocol import codec
from weir.protocol.events import UnknownCommand, decode_commands
from weir_backend.kit.wakeups import run_key, wake
from weir_backend.link import repository
from weir_backend.models import Command, Run


def give(session: Session, run: Run, kind: str, fields: dict[str, Any] | None = None, operation_id: int | None = None) -> Command:
    """The next command of ``run``, which hears of it at once if it listens. ``kind``: a class of ``weir.protocol.events``.

    Call it with the job's row locked. Raises ValueError for a command that no driver knows: that is a mistake of ours.
    """
    found = decode_commands(codec.dumps([[1, kind, fields or {}]]))[0].command
    if isinstance(found, UnknownCommand):
        raise ValueError(f"there is no command {kind}")
    number = repository.next_command(session, run.id)
    session.expire(run, ["last_command"])
    command = Command(run_id=run.id, number=number, kind=kind, fields=fields or {}, operation_id=operation_id)
    session.add(command)
    session.flush()
    wake(session, run_key(run.id))
    return command
