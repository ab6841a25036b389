"""Commands of the control plane, carried out by the coordinator of the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from weir.coordinator.driver import Coordinator
from weir.protocol.events import Cancel, NumberedCommand, Suspend, TakeCheckpoint, TakeSavepoint, UnknownCommand


def carry_out(coordinator: Coordinator, numbered: NumberedCommand) -> Callable[[], None] | str:
    """What to call, from any thread; or why the command is refused."""
    match numbered.command:
        case TakeSavepoint():
            return coordinator.savepoint
        case TakeCheckpoint():
            return coordinator.checkpoint
        case Suspend():
            return coordinator.suspend
        case Cancel():
            return coordinator.cancel
        case UnknownCommand(name):
            return f"this driver does not know the command {name}: it is older than the control plane"
        case _:
            assert_never(numbered.command)
