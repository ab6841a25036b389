"""The sequence of measurements of ``make bench-platform``, and their output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from rich.console import Console

from bench.platform import api_reads, ingest, month, streams, table_growth
from bench.platform.endpoints import ReadablePages, readable_pages
from bench.platform.options import MONTH, PlatformBenchOptions, parse
from bench.platform.resource_usage import usage
from bench.platform.result_tables import line, show
from bench.platform.results import Measurement, Value, about, append
from bench.platform.server import TemporaryControlPlane, platform
from bench.platform.table_filler import FilledTables, fill, find_error, quiet

MANY_DRIVERS = 100


class Suite:
    def __init__(
        self, options: PlatformBenchOptions, served: TemporaryControlPlane, run: dict[str, object], console: Console
    ) -> None:
        self.measured: list[Measurement] = []
        self._options = options
        self._platform = served
        self._run = run
        self._console = console

    def run(self) -> None:
        options, served = self._options, self._platform
        filled = self._fill()
        writer = filled.writer
        pages: ReadablePages | None = None
        if "reading" in options.parts or "mix" in options.parts:
            with served.client() as client:
                rows = filled.rows
                pages = readable_pages(
                    client, largest=filled.largest, totals={"list_events": rows.events, "list_checkpoints": rows.checkpoints}
                )
            self._keep([_coverage(pages)])
        if pages is not None and "reading" in options.parts:
            self._keep(api_reads.one_by_one(served, pages.pages, options.rounds))
            self._keep(api_reads.at_once(served, pages.pages, options.rounds, options.clients, options.seed))
        if "ingest" in options.parts:
            for size in options.batches:
                self._keep(
                    [
                        ingest.measure(
                            served, writer, size=size, drivers=options.drivers, seconds=options.seconds, seed=options.seed
                        )
                    ]
                )
            self._keep([streams.offered(served, writer, options, per_s=ingest.EVENTS_PER_S, drivers=MANY_DRIVERS)])
        if "streams" in options.parts:
            self._keep([streams.streams(served, writer, options)])
        if pages is not None and "mix" in options.parts:
            self._keep([streams.mix(served, writer, options, pages.pages)])
        if "growth" in options.parts:
            self._keep(table_growth.delete_everything(served))
            self._keep([table_growth.steady(served, writer, options)])

    def run_month(self) -> None:
        """Measure the part that fills the tables itself."""
        self._keep(month.measure(self._platform, self._options, self._print))

    def _fill(self) -> FilledTables:
        options = self._options
        self._print(f"filling: {options.jobs:,} jobs, {options.checkpoints:,} checkpoints, {options.events:,} events")
        before = usage(self._platform.api, self._platform.postgres)
        filled = fill(self._platform, options, self._print)
        used = usage(self._platform.api, self._platform.postgres).since(before)
        rows = filled.rows
        values: dict[str, Value] = {
            "jobs": rows.jobs, "checkpoints": rows.checkpoints, "events": rows.events, "samples": rows.samples,
            "seconds": filled.seconds, "postgres_cpu_s": used.postgres,
        }  # fmt: skip
        self._keep([Measurement("filling", "the tables", values, wrong=find_error(self._platform.database, rows))])
        return filled

    def _keep(self, found: Iterable[Measurement]) -> None:
        for one in found:
            self.measured.append(one)
            append(one, self._run, self._options.directory / "platform.jsonl")
            self._print(line(one))

    def _print(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False)


def _coverage(found: ReadablePages) -> Measurement:
    """Report the endpoints that the benchmark cannot call."""
    values: dict[str, Value] = {"pages": len(found.pages), "left_out": "; ".join(found.left_out)}
    return Measurement("reading", "pages to read", values, wrong="; ".join(found.unknown) or None)


def main(arguments: Sequence[str]) -> Literal[0, 1]:
    """Run the benchmark. Return 1 if data was lost or counted twice, or a response of the API was wrong."""
    options = parse(arguments)
    quiet()
    options.directory.mkdir(parents=True, exist_ok=True)
    console = Console(width=170)
    console.print(f"parts {', '.join(options.parts)}; results: {options.directory / 'platform.jsonl'}", highlight=False)
    measured: list[Measurement] = []
    if set(options.parts) - {MONTH}:
        with platform() as served:
            suite = Suite(options, served, about(options, arguments), console)
            suite.run()
            measured += suite.measured
    if MONTH in options.parts:
        with platform() as served:
            suite = Suite(options, served, about(options, arguments), console)
            suite.run_month()
            measured += suite.measured
    show(measured, console)
    return 0 if all(one.wrong is None for one in measured) else 1
