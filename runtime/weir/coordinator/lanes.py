"""The lanes of an ``EffectRunner``: what each runs is done one by one, in order, beside the coordinator's loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol


class Work(Protocol):
    def result(self) -> object:
        """Waits for it. Raises what it raised."""
        ...


class Lane(Protocol):
    """As much of an executor of one thread as the runner uses."""

    def submit(self, work: Callable[..., Any], /, *args: Any) -> Work: ...

    def shutdown(self, wait: bool = True) -> None: ...


class Closing(Protocol):
    """As much of an event as the runner uses: set once it is to end, and waited on where it wants to sleep."""

    def is_set(self) -> bool: ...

    def set(self) -> None: ...

    def wait(self, timeout: float) -> bool: ...


@dataclass(frozen=True, slots=True)
class Lanes:
    """Threads, unless others are given."""

    log: Lane = field(default_factory=lambda: ThreadPoolExecutor(1, "weir-log"))
    manifests: Lane = field(default_factory=lambda: ThreadPoolExecutor(1, "weir-manifests"))
    sinks: Lane = field(default_factory=lambda: ThreadPoolExecutor(1, "weir-sinks"))
    closing: Closing = field(default_factory=threading.Event)

    def close(self) -> None:
        """Waits for what is queued. The sinks' lane hands work to the log's and waits for it, so that one comes last."""
        self.closing.set()
        for lane in (self.sinks, self.manifests, self.log):
            lane.shutdown(wait=True)
