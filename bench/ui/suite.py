"""The sequence of measurements of ``make bench-ui``, and their output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal

from playwright.sync_api import Browser, Page
from rich.console import Console

from bench.platform.results import Measurement, about, append
from bench.ui import first_page, sites, smoothness
from bench.ui.chromium import HEIGHT, WIDTH, browser
from bench.ui.options import UiBenchOptions, parse
from bench.ui.page_probe import install_probe
from bench.ui.report import line, show
from bench.ui.sites import Site

TIMEOUT_MS = 60_000


class Suite:
    def __init__(self, options: UiBenchOptions, started: Browser, run: dict[str, object], console: Console) -> None:
        self.measured: list[Measurement] = []
        self._options = options
        self._browser = started
        self._run = run
        self._console = console

    def run(self) -> None:
        options = self._options
        if "first-page" in options.parts:
            with sites.embedded() as site:
                self._keep(first_page.measure(self._browser, site, options.visits))
        if "simulated" in options.parts:
            self._measure_tabs("simulated", lambda: sites.simulated(options.simulated_ui), shared=False)
        if "real" in options.parts:
            self._measure_tabs("real", sites.real, shared=True)

    def _measure_tabs(self, part: str, opened: Callable[[], AbstractContextManager[Site]], *, shared: bool) -> None:
        with opened() as site:
            rounds = [self._record(self._tabs(part, site)) for _ in range(self._options.rounds)]
        self._keep(smoothness.combine_rounds(rounds, shared=shared))

    def _tabs(self, part: str, site: Site) -> Iterator[Measurement]:
        options = self._options
        context = self._browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
        try:
            install_probe(context)
            page = context.new_page()
            job_id = _log_in(page, site)
            idle_url = f"{site.url}/jobs/{job_id}/configuration{site.search}"
            traces = options.directory if options.trace else None
            yield from smoothness.measure(self._browser, page, part, idle_url, options.seconds, traces)
        finally:
            context.close()

    def _keep(self, found: Iterable[Measurement]) -> None:
        self.measured += self._record(found)

    def _record(self, found: Iterable[Measurement]) -> list[Measurement]:
        recorded = []
        for one in found:
            recorded.append(one)
            append(one, self._run, self._options.directory / "ui.jsonl")
            self._console.print(line(one), highlight=False, markup=False)
        return recorded


def _log_in(page: Page, site: Site) -> int:
    """Log in, and return the id of the measured job."""
    page.goto(f"{site.url}/{site.search}")
    page.locator("input[name=name]").fill(site.name)
    page.locator("input[name=password]").fill(site.password)
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Home").wait_for(timeout=TIMEOUT_MS)
    if site.job_id is not None:
        return site.job_id
    page.get_by_role("menuitem", name="Jobs").click()
    page.get_by_role("cell", name="wide").first.click()
    page.get_by_role("heading", level=1, name="wide").wait_for(timeout=TIMEOUT_MS)
    return int(page.url.rpartition("/jobs/")[2].partition("?")[0])


def main(arguments: Sequence[str]) -> Literal[0, 1]:
    """Return 1 if a measurement missed its target or a page had errors."""
    options = parse(arguments)
    options.directory.mkdir(parents=True, exist_ok=True)
    console = Console(width=190)
    console.print(f"parts {', '.join(options.parts)}; results: {options.directory / 'ui.jsonl'}", highlight=False)
    with browser() as started:
        run = {**about(options, arguments), "browser": started.version}
        suite = Suite(options, started, run, console)
        suite.run()
    show(suite.measured, console)
    return 0 if all(one.wrong is None and (one.aim is None or one.aim.met) for one in suite.measured) else 1
