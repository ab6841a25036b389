"""All of the line to the control plane that a run of a job needs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from weir.link.http import LinkAddress
from weir.link.line import Carry, ControlPlaneLine, Taken
from weir.link.reporter import Reporter
from weir.link.spool import Spool
from weir.protocol.events import Event, RunState, RunStateChanged
from weir.protocol.ids import Generation
from weir.protocol.snapshots import JsonValue


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """``spool``: a directory of this run's own, for events that the control plane has not confirmed."""

    address: LinkAddress
    spool: Path


class RunLink:
    """``reporter`` once the graph is known, ``start`` once there is somebody to carry commands out, ``close`` in the end; or, where
    it does not come to ``start``, ``failed_to_start``."""

    def __init__(self, options: LinkOptions) -> None:
        """Raises ConfigError if events cannot be kept."""
        self._address = options.address
        self._spool = Spool(options.spool, wall_ms=lambda: time.time_ns() // 1_000_000)
        self._line: ControlPlaneLine | None = None

    def tell(self, event: Event) -> None:
        """What happens before there is a coordinator whose listener could tell it."""
        self._spool.append(event)

    def reporter(self, graph: JsonValue, subtasks: int) -> Reporter:
        return Reporter(self._spool.append, graph=graph, subtasks=subtasks, now_ms=lambda: time.monotonic_ns() // 1_000_000)

    def start(self, carry: Carry, taken: Taken) -> None:
        """``taken``: what to do once the control plane has taken the job from this run."""
        self._line = ControlPlaneLine(self._address, self._spool, carry, taken)
        self._line.start()

    def failed_to_start(self, error: BaseException) -> None:
        """Nothing was started; why is told to the control plane, then the line is closed. Not after ``start``."""
        assert self._line is None
        self._spool.append(RunStateChanged(RunState.FAILED, Generation(0), str(error), type(error).__name__))
        self.start(lambda command: "the run has failed to start", lambda reason: None)
        self.close()

    @property
    def started(self) -> bool:
        return self._line is not None

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
        else:
            self._spool.close()
