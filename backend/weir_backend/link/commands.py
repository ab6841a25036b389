"""Send commands to drivers."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from weir.protocol import codec
from weir.protocol.events import UnknownCommand, decode_commands
from weir_backend.kit.notifications import publish, run_key
from weir_backend.link import repository
from weir_backend.models import Command, Run


def send_command(
    session: Session, run: Run, kind: str, fields: dict[str, Any] | None = None, operation_id: int | None = None
) -> Command:
    """Store a command for the driver of ``run``, and wake the request in which this driver waits for commands. ``kind`` is the name of a
    class in ``weir.protocol.events``.

    The caller holds the lock on the job. Raises ValueError for an unknown command, which is a programming error.
    """
    found = decode_commands(codec.dumps([[1, kind, fields or {}]]))[0].command
    if isinstance(found, UnknownCommand):
        raise ValueError(f"unknown command {kind}")
    number = repository.next_command(session, run.id)
    session.expire(run, ["last_command"])
    command = Command(run_id=run.id, number=number, kind=kind, fields=fields or {}, operation_id=operation_id)
    session.add(command)
    session.flush()
    publish(session, run_key(run.id))
    return command
