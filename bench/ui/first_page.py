"""How soon the first pages are usable with an empty browser cache: the log-in page, and the home page after the log-in."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from playwright.sync_api import Browser, Page

from bench.platform.results import Aim, Measurement, Value
from bench.ui.chromium import HEIGHT, WIDTH
from bench.ui.page_probe import PageErrors, install_probe, read_probe
from bench.ui.sites import Site

USABLE_MS = 2_000.0
SCRIPTS_KB = 500.0
TIMEOUT_MS = 60_000
USABLE_WHEN = {
    "log-in": "document.querySelector('input[name=name]:enabled')",
    "jobs": r"/\d/.test(document.querySelector('section[aria-label=Jobs]')?.textContent ?? '')",
}


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit with an empty cache.

    ``log_in_ms``: the time from opening the address until the user can type a name. ``paint_ms``: the time until the largest
    content is painted. ``home_ms``: the time from submitting the log-in form until the home page shows the jobs. ``scripts_kb``:
    compressed size of the scripts of the log-in page. ``all_kb``: compressed size of scripts, styles and fonts of both pages.
    ``longest_ms``: duration of the longest task of the browser's main thread.
    """

    log_in_ms: float
    paint_ms: float | None
    home_ms: float
    scripts_kb: float
    all_kb: float
    longest_ms: float


def measure(browser: Browser, site: Site, visits: int) -> Iterator[Measurement]:
    errors = PageErrors()
    found = [_visit(browser, site, errors) for _ in range(visits)]
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
        "first-page", "log-in to jobs", _spread(home), Aim(within, statistics.median(home) < USABLE_MS), errors.message
    )
    sizes: dict[str, Value] = {"scripts_kb": max(scripts), "all_kb": max(one.all_kb for one in found)}
    yield Measurement(
        "first-page", "size of the first pages", sizes, Aim(f"scripts under {SCRIPTS_KB:.0f} kB", max(scripts) < SCRIPTS_KB)
    )


def _visit(browser: Browser, site: Site, errors: PageErrors) -> Visit:
    # A new context has an empty cache.
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    try:
        install_probe(context, conditions=USABLE_WHEN)
        page = context.new_page()
        errors.collect(page)
        page.goto(site.url)
        _wait_until_usable(page, "log-in")
        scripts_kb = _transferred_kb(page, "script")
        name = page.locator("input[name=name]")
        name.click()
        page.keyboard.type(site.name)
        assert name.input_value() == site.name, "the log-in page does not accept a name"
        page.locator("input[name=password]").fill(site.password)
        page.keyboard.press("Enter")
        _wait_until_usable(page, "jobs")
        probed = read_probe(page)
        first_met = probed.first_met
        return Visit(
            first_met["log-in"], probed.paint_ms, first_met["jobs"] - first_met["submitted"], scripts_kb, _transferred_kb(page, None),
            max((one.took_ms for one in probed.tasks), default=0.0),
        )  # fmt: skip
    finally:
        context.close()


def _wait_until_usable(page: Page, name: str) -> None:
    page.wait_for_function("name => name in weirBench.read().firstMet", arg=name, timeout=TIMEOUT_MS)


def _transferred_kb(page: Page, kind: str | None) -> float:
    """Return the compressed size of the resources that the page has loaded so far. ``kind``: None means resources of all
    kinds."""
    found: float = page.evaluate(
        """kind => performance.getEntriesByType('resource')
            .filter(({ name }) => kind !== 'script' || new URL(name).pathname.endsWith('.js'))
            .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) / 1000""",
        kind,
    )
    return found


def _spread(values: list[float]) -> dict[str, Value]:
    return {"visits": len(values), "median_ms": statistics.median(values), "least_ms": min(values), "most_ms": max(values)}
