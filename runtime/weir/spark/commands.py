"""Commands of the control plane, carried out by the coordinator of the run."""

from __future__ import annotations

from typing import assert_never

from weir.coordinator.driver import Coordinator
from weir.protocol.events import Cancel, NumberedCommand, Suspend, TakeSavepoint, UnknownCommand


def carry_out(coordinator: Coordinator, numbered: NumberedCommand) -> str | None:
    """None: taken up. Else why not. From any thread."""
    match numbered.command:
        case TakeSavepoint():
            coordinator.savepoint()
        case Suspend():
            coordinator.suspend()
        case Cancel():
            coordinator.cancel()
        case UnknownCommand(name):
            return f"this driver does not know the command {name}: it is older than the control plane"
        case _:
            assert_never(numbered.command)
    return None
