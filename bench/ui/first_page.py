"""How soon the first page is usable, with nothing in the browser's cache: the log-in page from its address, and the jobs from the log-in."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from playwright.sync_api import Browser, Page

from bench.platform.results import Aim, Measurement, Value
from bench.ui.chromium import HEIGHT, WIDTH
from bench.ui.sites import Site
from bench.ui.watching import Trouble, look, watch

USABLE_MS = 2_000.0
SCRIPTS_KB = 500.0
TIMEOUT_MS = 60_000
ARRIVALS = {
    "log-in": "document.querySelector('input[name=name]:enabled')",
    "jobs": r"/\d/.test(document.querySelector('section[aria-label=Jobs]')?.textContent ?? '')",
}


@dataclass(frozen=True, slots=True)
class Visit:
    """``log_in_ms``: until a name can be typed; ``paint_ms``: until the largest content was painted; ``home_ms``: from sending the form until
    jobs are shown. ``scripts_kb``: as they were sent, up to the log-in page; ``all_kb``: with styles and fonts, up to the jobs."""

    log_in_ms: float
    paint_ms: float | None
    home_ms: float
    scripts_kb: float
    all_kb: float
    longest_ms: float


def measure(browser: Browser, site: Site, visits: int) -> Iterator[Measurement]:
    trouble = Trouble()
    found = [_visit(browser, site, trouble) for _ in range(visits)]
    log_in, home, scripts = [one.log_in_ms for one in found], [one.home_ms for one in found], [one.scripts_kb for one in found]
    paints = [one.paint_ms for one in found if one.paint_ms is not None]
    within = f"median under {USABLE_MS / 1000:.0f} s"
    yield Measurement(
        "first-page",
        "address to log-in page",
        {
            **_spread(log_in),
            "paint_ms": statistics.median(paints) if paints else None,
            "longest_task_ms": max(one.longest_ms for one in found),
        },
        Aim(within, statistics.median(log_in) < USABLE_MS),
    )
    yield Measurement(
        "first-page", "log-in to jobs", _spread(home), Aim(within, statistics.median(home) < USABLE_MS), trouble.wrong
    )
    sizes: dict[str, Value] = {"scripts_kb": max(scripts), "all_kb": max(one.all_kb for one in found)}
    yield Measurement("first-page", "sent for it", sizes, Aim(f"scripts under {SCRIPTS_KB:.0f} kB", max(scripts) < SCRIPTS_KB))


def _visit(browser: Browser, site: Site, trouble: Trouble) -> Visit:
    # Each has a cache of its own, with nothing in it.
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    try:
        watch(context, arrivals=ARRIVALS)
        page = context.new_page()
        trouble.watch(page)
        page.goto(site.url)
        _reach(page, "log-in")
        scripts_kb = _sent_kb(page, "script")
        name = page.locator("input[name=name]")
        name.click()
        page.keyboard.type(site.name)
        assert name.input_value() == site.name, "the log-in page takes no name"
        page.locator("input[name=password]").fill(site.password)
        page.keyboard.press("Enter")
        _reach(page, "jobs")
        seen = look(page)
        reached = seen.reached
        return Visit(
            reached["log-in"], seen.paint_ms, reached["jobs"] - reached["submitted"], scripts_kb, _sent_kb(page, None),
            max((one.took_ms for one in seen.tasks), default=0.0),
        )  # fmt: skip
    finally:
        context.close()


def _reach(page: Page, name: str) -> None:
    page.wait_for_function("name => name in weirBench.read().reached", arg=name, timeout=TIMEOUT_MS)


def _sent_kb(page: Page, kind: str | None) -> float:
    """Of what the page has loaded so far, compressed as it was."""
    found: float = page.evaluate(
        """kind => performance.getEntriesByType('resource')
            .filter(({ name }) => kind !== 'script' || new URL(name).pathname.endsWith('.js'))
            .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) / 1000""",
        kind,
    )
    return found


def _spread(values: list[float]) -> dict[str, Value]:
    return {"visits": len(values), "median_ms": statistics.median(values), "least_ms": min(values), "most_ms": max(values)}
