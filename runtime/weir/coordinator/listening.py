"""Who wants to know what becomes of a job."""

from __future__ import annotations

from typing import Protocol

from weir.kernel.effects import Finish, Report
from weir.kernel.job import JobPhase
from weir.protocol.ids import Generation
from weir.protocol.messages import FromSlot


class Listener(Protocol):
    """All calls come from the coordinator's loop."""

    def on_phase(self, phase: JobPhase, generation: Generation) -> None:
        """After every turn of the loop, also if they are what they were."""
        ...

    def on_message(self, message: FromSlot) -> None:
        """Of a slot that has registered; before the job master takes it up."""
        ...

    def on_report(self, report: Report) -> None: ...

    def on_finish(self, finish: Finish) -> None:
        """The last call."""
        ...
