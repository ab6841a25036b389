"""Which parts are measured, in which order, and what is shown of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from rich.console import Console

from bench.platform import growth, ingest, reading, streams
from bench.platform.endpoints import Readable, readable
from bench.platform.filling import Filled, fill, quiet, wrong
from bench.platform.options import Plan, parse
from bench.platform.results import Measurement, Value, about, append
from bench.platform.serving import Platform, platform
from bench.platform.tables import line, show
from bench.platform.usage import usage

MANY_DRIVERS = 100


class Suite:
    def __init__(self, plan: Plan, served: Platform, run: dict[str, object], console: Console) -> None:
        self.measured: list[Measurement] = []
        self._plan = plan
        self._platform = served
        self._run = run
        self._console = console

    def run(self) -> None:
        plan, served = self._plan, self._platform
        filled = self._fill()
        author = filled.author
        pages: Readable | None = None
        if "reading" in plan.parts or "mix" in plan.parts:
            with served.client() as client:
                told = filled.told
                pages = readable(
                    client, largest=filled.largest, totals={"list_events": told.events, "list_checkpoints": told.checkpoints}
                )
            self._keep([_complete(pages)])
        if pages is not None and "reading" in plan.parts:
            self._keep(reading.one_by_one(served, pages.pages, plan.rounds))
            self._keep(reading.at_once(served, pages.pages, plan.rounds, plan.clients, plan.seed))
        if "ingest" in plan.parts:
            for size in plan.batches:
                self._keep(
                    [ingest.measure(served, author, size=size, drivers=plan.drivers, seconds=plan.seconds, seed=plan.seed)]
                )
            self._keep([streams.offered(served, author, plan, per_s=ingest.EVENTS_PER_S, drivers=MANY_DRIVERS)])
        if "streams" in plan.parts:
            self._keep([streams.streams(served, author, plan)])
        if pages is not None and "mix" in plan.parts:
            self._keep([streams.mix(served, author, plan, pages.pages)])
        if "growth" in plan.parts:
            self._keep(growth.all_forgotten(served))
            self._keep([growth.steady(served, author, plan)])

    def _fill(self) -> Filled:
        plan = self._plan
        self._say(f"filling: {plan.jobs:,} jobs, {plan.checkpoints:,} checkpoints, {plan.events:,} events")
        before = usage(self._platform.api, self._platform.postgres)
        filled = fill(self._platform, plan, self._say)
        used = usage(self._platform.api, self._platform.postgres).since(before)
        told = filled.told
        values: dict[str, Value] = {
            "jobs": told.jobs, "checkpoints": told.checkpoints, "events": told.events, "samples": told.samples,
            "seconds": filled.seconds, "postgres_cpu_s": used.postgres,
        }  # fmt: skip
        self._keep([Measurement("filling", "the tables", values, wrong=wrong(self._platform.database, told))])
        return filled

    def _keep(self, found: Iterable[Measurement]) -> None:
        for one in found:
            self.measured.append(one)
            append(one, self._run, self._plan.directory / "platform.jsonl")
            self._say(line(one))

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False)


def _complete(found: Readable) -> Measurement:
    """That all endpoints are known to the benchmark."""
    values: dict[str, Value] = {"pages": len(found.pages), "left_out": "; ".join(found.left_out)}
    return Measurement("reading", "what there is to read", values, wrong="; ".join(found.unknown) or None)


def main(arguments: Sequence[str]) -> Literal[0, 1]:
    """1: something was lost, counted twice or answered wrongly."""
    plan = parse(arguments)
    quiet()
    plan.directory.mkdir(parents=True, exist_ok=True)
    console = Console(width=170)
    console.print(f"parts {', '.join(plan.parts)}; results go to {plan.directory / 'platform.jsonl'}", highlight=False)
    with platform() as served:
        suite = Suite(plan, served, about(plan, arguments), console)
        suite.run()
    show(suite.measured, console)
    return 0 if all(one.wrong is None for one in suite.measured) else 1
