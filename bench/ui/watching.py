"""What a page's browser has measured: long tasks and what they were spent on, how often something new arrived; and what went wrong in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request

LONG_MS = 50.0
"""What the browser calls a long task."""
SCRIPT = Path(__file__).with_name("watch.js").read_text()
_GIVEN_UP = "net::ERR_ABORTED"
"""Of requests that the page itself wants no answer to any more: streams that are left."""
_NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class LongTask:
    """``at_ms``: since the page began. ``why``: the scripts, styles and layout that took longest; '' if the browser does not say."""

    at_ms: float
    took_ms: float
    why: str


@dataclass(frozen=True, slots=True)
class Seen:
    """Until now. ``events_ms``: by name, how long the slowest answer to what somebody did took. ``paint_ms``: of the largest content.
    ``reached``: when something was first there, by name. ``texts``: that came over streams. ``mark``: name of this moment in a trace."""

    now_ms: float
    mark: str
    tasks: Sequence[LongTask]
    events: Sequence[tuple[float, float, str]]
    paint_ms: float | None
    reached: dict[str, float]
    texts: int

    def between(self, from_ms: float, to_ms: float) -> list[LongTask]:
        """Also those that have begun before, or go on afterwards."""
        return [one for one in self.tasks if one.at_ms < to_ms and one.at_ms + one.took_ms > from_ms]


@dataclass
class Trouble:
    """What nobody should find in the console of the browser. Without slots: Playwright notes on it whose methods it calls."""

    found: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.found.append(f"error: {error}"))
        page.on("requestfailed", self._failed)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.found.append(f"console: {message.text}")

    def _failed(self, request: Request) -> None:
        if request.failure != _GIVEN_UP:
            self.found.append(f"{request.method} {request.url}: {request.failure}")

    @property
    def wrong(self) -> str | None:
        return "; ".join(self.found[:3]) or None


def watch(context: BrowserContext, *, arrivals: dict[str, str] | None = None) -> None:
    """In all pages of it from now on. ``arrivals``: JavaScript that is true once something is there, by name."""
    wanted = "".join(f"weirBench.await({name!r}, () => {test});\n" for name, test in (arrivals or {}).items())
    context.add_init_script(f"{SCRIPT}\n{wanted}")


def look(page: Page) -> Seen:
    found: dict[str, Any] = page.evaluate("() => ({ ...weirBench.read(), mark: weirBench.mark(), now: weirBench.now() })")
    frames: list[dict[str, Any]] = found["frames"]
    return Seen(
        now_ms=found["now"],
        mark=found["mark"],
        tasks=[LongTask(at, took, _why(at, took, frames)) for at, took in found["tasks"]],
        events=[(at, took, name) for at, took, name in found["events"]],
        paint_ms=max((at for at, _ in found["paints"]), default=None),
        reached=found["reached"],
        texts=found["texts"],
    )


def now_ms(page: Page) -> float:
    found: float = page.evaluate("() => weirBench.now()")
    return found


def _why(at_ms: float, took_ms: float, frames: Sequence[dict[str, Any]]) -> str:
    """Of the long frame in which the task was."""
    for frame in frames:
        if not frame["at"] - 1 <= at_ms < frame["at"] + frame["duration"]:
            continue
        scripts = sorted(frame["scripts"], key=lambda one: float(one["took"]), reverse=True)
        named = [_said(one) for one in scripts[:_NAMED_MAX] if one["took"] >= 5]
        if frame["layout"] and frame["layout"] >= 5:
            named.append(f"style, layout and paint {frame['layout']:.0f}")
        return ", ".join(named)
    return ""


def _said(script: dict[str, Any]) -> str:
    where = ":".join(part for part in (script["source"], script["function"]) if part)
    forced = f", of it forced layout {script['forced']:.0f}" if script["forced"] >= 1 else ""
    return f"{script['invoker']} ({where}) {script['took']:.0f}{forced}"
