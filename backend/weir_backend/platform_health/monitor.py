"""Monitors the components of the platform. A component that hangs, such as a frozen server, counts as down although its check does not
return."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum

ANSWER_S_MAX = 2.0
"""If a check takes longer, the component is down."""
WAIT_S = ANSWER_S_MAX + 0.2
"""The maximum time for which ``read`` waits for checks. ``read`` waits long enough to notice that a component hangs."""


class Component(StrEnum):
    POSTGRES = "postgres"
    REDIS = "redis"
    WORKERS = "workers"
    BEAT = "beat"
    STORAGE = "storage"
    DRIVERS = "drivers"


class ComponentStatus(StrEnum):
    UP = "up"
    DOWN = "down"
    UNKNOWN = "unknown"
    """The check needs another component, which is down, or the first check is still running."""


REQUIRES: Mapping[Component, Component] = {
    Component.WORKERS: Component.REDIS,
    Component.BEAT: Component.POSTGRES,
    Component.DRIVERS: Component.POSTGRES,
}
"""The component that the check of a component needs."""


class CheckFailed(Exception):
    """``args[0]`` says what is wrong, and ``next_step`` what the user can do. Both are sentences."""

    def __init__(self, detail: str, next_step: str = "") -> None:
        super().__init__(detail)
        self.next_step = next_step


@dataclass(frozen=True, slots=True)
class ComponentCheck:
    """``run`` checks a component and returns a sentence. If the component is down, ``run`` raises CheckFailed, or does not return. ``title``
    is the subject of the sentence "TITLE has not answered for 5 s." A check begins at most every ``every_s`` seconds."""

    component: Component
    title: str
    run: Callable[[], str]
    next_step: str = "Run weir doctor for details."
    every_s: float = 1.5


@dataclass(frozen=True, slots=True)
class ComponentHealth:
    """``up_s``: how many seconds ago a check has found the component up, or None."""

    component: Component
    status: ComponentStatus
    detail: str
    next_step: str = ""
    up_s: float | None = None


@dataclass(slots=True)
class CheckHistory:
    """The newest result of one check, and the check that is running. Times are in seconds on a monotonic clock."""

    check: ComponentCheck
    began_s: float | None = None
    """The start of the newest check, or None before the first check."""
    running: Future[None] | None = None
    up_s: float | None = None
    """The end of the newest check that found the component up, or None."""
    status: ComponentStatus = ComponentStatus.UNKNOWN
    detail: str = "The first check is still running."
    next_step: str = ""

    def is_due(self, now_s: float) -> bool:
        return self.running is None and (self.began_s is None or now_s >= self.began_s + self.check.every_s)

    def succeeded(self, detail: str, now_s: float) -> None:
        self.status, self.detail, self.next_step, self.up_s = ComponentStatus.UP, detail, "", now_s

    def failed(self, error: Exception) -> None:
        self.status = ComponentStatus.DOWN
        if isinstance(error, CheckFailed):
            self.detail, self.next_step = str(error), error.next_step or self.check.next_step
        else:
            self.detail = f"The check of {self.check.title} failed: {type(error).__name__}."
            self.next_step = self.check.next_step

    def health(self, now_s: float) -> ComponentHealth:
        """Return the newest result. While a check hangs, the component is down."""
        component, title = self.check.component, self.check.title
        up_s = None if self.up_s is None else max(0.0, now_s - self.up_s)
        if self.running is not None and self.began_s is not None and now_s - self.began_s >= ANSWER_S_MAX:
            silent_s = now_s - (self.began_s if self.up_s is None else self.up_s)
            detail = f"{title} has not answered for {silent_s:.0f} s."
            return ComponentHealth(component, ComponentStatus.DOWN, detail, self.check.next_step, up_s)
        return ComponentHealth(component, self.status, self.detail, self.next_step, up_s)


def without_consequences(found: Sequence[ComponentHealth], titles: Mapping[Component, str]) -> list[ComponentHealth]:
    """Replace the health of each component whose check needs a component that is down, because its check cannot succeed."""
    down = {one.component for one in found if one.status is ComponentStatus.DOWN}
    result = []
    for one in found:
        required = REQUIRES.get(one.component)
        if required in down:
            detail = f"Unknown, because {titles[required]} does not answer."
            one = ComponentHealth(one.component, ComponentStatus.UNKNOWN, detail, up_s=one.up_s)
        result.append(one)
    return result


class PlatformMonitor:
    """Runs the checks when someone reads them. All methods belong to one event loop."""

    def __init__(self, checks: Sequence[ComponentCheck], clock_s: Callable[[], float] = time.monotonic) -> None:
        self._histories = [CheckHistory(check) for check in checks]
        self._titles = {check.component: check.title for check in checks}
        self._clock_s = clock_s

    async def read(self, only: Component | None = None) -> list[ComponentHealth]:
        """Start the checks that are due, and return the health of all components, or of the component ``only``. Wait at most WAIT_S for
        running checks."""
        wanted = [one for one in self._histories if only in (None, one.check.component)]
        for history in wanted:
            if history.is_due(self._clock_s()):
                self._start(history)
        running = [asyncio.wrap_future(one.running) for one in wanted if one.running is not None]
        if running:
            await asyncio.wait(running, timeout=WAIT_S)
        now_s = self._clock_s()
        return without_consequences([one.health(now_s) for one in wanted], self._titles)

    def _start(self, history: CheckHistory) -> None:
        done: Future[None] = Future()
        history.began_s, history.running = self._clock_s(), done

        def run() -> None:
            try:
                detail = history.check.run()
            except Exception as error:  # noqa: BLE001  # a failed check must not end the monitor
                history.failed(error)
            else:
                history.succeeded(detail, self._clock_s())
            history.running = None
            done.set_result(None)

        # A daemon thread does not delay the end of the process. A thread pool would wait for a check that hangs.
        threading.Thread(target=run, name=f"weir-check-{history.check.component}", daemon=True).start()
