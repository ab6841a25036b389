"""Reads the measurements of a page from the browser (see page_probe.js), and collects the page's errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request

LONG_MS = 50.0
"""The browser reports a task as a long task if it takes at least this time."""
SCRIPT = Path(__file__).with_name("page_probe.js").read_text()
_ABORTED = "net::ERR_ABORTED"
"""The failure of a request that the page itself has ended, for example a stream."""
_NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class LongTask:
    """``at_ms``: the time from opening the page until the task started. ``why``: the scripts and layout steps that took longest,
    or '' if unknown."""

    at_ms: float
    took_ms: float
    why: str


@dataclass(frozen=True, slots=True)
class ProbeReading:
    """All measurements since the page was opened.

    ``mark``: the name of the mark that identifies this reading in a trace. ``events``: time, duration and name of each slow
    input event. ``paint_ms``: time of the largest contentful paint. ``first_met``: for each condition, the time at which it
    was first met. ``messages``: number of messages that arrived over event streams.
    """

    now_ms: float
    mark: str
    tasks: Sequence[LongTask]
    events: Sequence[tuple[float, float, str]]
    paint_ms: float | None
    first_met: dict[str, float]
    messages: int

    def tasks_between(self, from_ms: float, to_ms: float) -> list[LongTask]:
        """Return the tasks that overlap the time from ``from_ms`` to ``to_ms``."""
        return [one for one in self.tasks if one.at_ms < to_ms and one.at_ms + one.took_ms > from_ms]


@dataclass
class PageErrors:
    """Console errors, exceptions and failed requests. The class has no ``__slots__``, because Playwright sets attributes on
    its instances."""

    found: list[str] = field(default_factory=list)

    def collect(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.found.append(f"error: {error}"))
        page.on("requestfailed", self._failed)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.found.append(f"console: {message.text}")

    def _failed(self, request: Request) -> None:
        if request.failure != _ABORTED:
            self.found.append(f"{request.method} {request.url}: {request.failure}")

    @property
    def message(self) -> str | None:
        return "; ".join(self.found[:3]) or None


def install_probe(context: BrowserContext, *, conditions: dict[str, str] | None = None) -> None:
    """Install the probe in all pages that ``context`` opens from now on. ``conditions``: JavaScript expressions by name."""
    registrations = "".join(f"weirBench.onceMet({name!r}, () => {test});\n" for name, test in (conditions or {}).items())
    context.add_init_script(f"{SCRIPT}\n{registrations}")


def read_probe(page: Page) -> ProbeReading:
    found: dict[str, Any] = page.evaluate("() => ({ ...weirBench.read(), mark: weirBench.mark(), now: weirBench.now() })")
    frames: list[dict[str, Any]] = found["frames"]
    return ProbeReading(
        now_ms=found["now"],
        mark=found["mark"],
        tasks=[LongTask(at, took, _why(at, took, frames)) for at, took in found["tasks"]],
        events=[(at, took, name) for at, took, name in found["events"]],
        paint_ms=max((at for at, _ in found["paints"]), default=None),
        first_met=found["firstMet"],
        messages=found["messages"],
    )


def now_ms(page: Page) -> float:
    found: float = page.evaluate("() => weirBench.now()")
    return found


def _why(at_ms: float, took_ms: float, frames: Sequence[dict[str, Any]]) -> str:
    """Return the causes of the long animation frame that contains the task."""
    for frame in frames:
        if not frame["at"] - 1 <= at_ms < frame["at"] + frame["duration"]:
            continue
        scripts = sorted(frame["scripts"], key=lambda one: float(one["took"]), reverse=True)
        named = [_describe(one) for one in scripts[:_NAMED_MAX] if one["took"] >= 5]
        if frame["layout"] and frame["layout"] >= 5:
            named.append(f"style, layout and paint {frame['layout']:.0f}")
        return ", ".join(named)
    return ""


def _describe(script: dict[str, Any]) -> str:
    where = ":".join(part for part in (script["source"], script["function"]) if part)
    forced = f", including forced layout {script['forced']:.0f}" if script["forced"] >= 1 else ""
    return f"{script['invoker']} ({where}) {script['took']:.0f}{forced}"
