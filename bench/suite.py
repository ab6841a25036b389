"""The sequence of measurements of ``make bench``."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from logging import ERROR
from pathlib import Path
from typing import Literal

import structlog
from rich.console import Console

from bench import paired_runs
from bench.abs6 import Abs6
from bench.ceiling_run import Ceiling, CeilingRun
from bench.measured_run import RunMeasurement, RunSettings, Workload, measure
from bench.options import BenchOptions, parse
from bench.paired_runs import PairedRunner
from bench.pipelines import Pipelines
from bench.platform.results import about
from bench.results import EVERY_SECOND, NONE, START, BenchResult, append, measurement, show
from bench.word_files import write_word_files
from bench.wordcount import WordCount
from weir.spark.launch import RunOptions, session_for
from weir.spark.session import LazySession

TEXT_NAMES = 400
WARM_UP_DRAWS = 8
"""The benchmark treats a large state as full when each key has received this number of records on average. With 8 records per key
on average, 3 of 10,000 random keys have no record."""
LATENCY_SHARE = 0.1
INTERVAL_MS = 1_000
FEW_PIPELINES, MANY_PIPELINES = 2, 50
"""With two slots, a slot has 4 or 100 input channels."""
PAIRED, UNPAIRED = {"abs6", "abs6-batch", "wordcount", "channels"}, {"start", "unpaired", "million", "latency"}
"""``PAIRED``: parts of the benchmark with paired runs. ``UNPAIRED``: parts with runs that do not take turns. The unpaired runs
share one Spark session."""


class Suite:
    """All measurements at one parallelism."""

    def __init__(self, options: BenchOptions, parallelism: int, about: dict[str, object], console: Console) -> None:
        self.measured: list[BenchResult] = []
        self._options = options
        self._parallelism = parallelism
        self._about = about
        self._console = console
        self._ceiling = Ceiling(max(2.0, options.seconds / 2))
        run_options = RunOptions(checkpoint_dir=str(options.directory), parallelism=parallelism)
        self._session: LazySession = session_for(run_options, "bench")

    def run(self) -> None:
        options, parts = self._options, self._options.parts
        if PAIRED & set(parts):
            with contextlib.closing(PairedRunner(self._parallelism, options.directory)) as pair:
                if "abs6" in parts:
                    self._pairs(pair, Abs6(options.seed), options.pairs, with_ceiling=True)
                if "abs6-batch" in parts:
                    self._pairs(pair, Abs6(options.seed, emit="batch"), options.few_pairs, with_ceiling=True)
                if "wordcount" in parts:
                    self._pairs(pair, WordCount(self._text()), options.pairs, with_ceiling=False)
                if "channels" in parts:
                    self._channels(pair)
        if UNPAIRED & set(parts):
            with contextlib.closing(self._session):
                if "start" in parts:
                    self._start_up()
                if "unpaired" in parts:
                    for workload in (Abs6(options.seed), WordCount(self._text())):
                        self._keep(f"{workload.name}, unpaired", EVERY_SECOND, self._measure(workload, INTERVAL_MS))
                if "million" in parts:
                    self._million()
                if "latency" in parts:
                    self._latency()

    def _text(self) -> Path:
        options = self._options
        return write_word_files(options.directory, seed=options.seed, file_bytes=options.word_file_bytes, names=TEXT_NAMES)

    def _start_up(self) -> None:
        """Measure the start of the Spark session, then a cold and a warm start of a job in this session. The cold start also
        loads Spark's Python daemon and all compiled code."""
        began = time.monotonic()
        self._session.get()
        session_s = time.monotonic() - began
        cold = self._measure(Abs6(self._options.seed), None, seconds=2.0)
        warm = self._measure(Abs6(self._options.seed), None, seconds=2.0)
        self._keep(START, f"cold (the Spark session started in {session_s:.1f} s)", cold)
        self._keep(START, "on warm Spark", warm)

    def _pairs(self, pair: PairedRunner, workload: Workload, pairs: int, *, with_ceiling: bool) -> None:
        for _ in range(pairs):
            ceiling = self._ceiling.run() if with_ceiling else None
            if ceiling is not None:
                self._print("ceiling", "", ceiling.records_per_s, ceiling.records_per_cpu_s)
            without, with_ = pair.measure(
                (workload, self._setting(None)), (workload, self._setting(paired_runs.INTERVAL_MS))
            )  # fmt: skip
            self._keep(workload.name, NONE, without, ceiling=ceiling, took_turns=True)
            self._keep(workload.name, EVERY_SECOND, with_, baseline=without, ceiling=ceiling, took_turns=True)

    def _channels(self, pair: PairedRunner) -> None:
        """Compare a job of many channels with one of few channels, both with checkpoints. The job of few channels is the
        baseline."""
        workloads = Pipelines(self._options.seed, FEW_PIPELINES), Pipelines(self._options.seed, MANY_PIPELINES)
        for _ in range(self._options.pairs):
            few, many = pair.measure(*((one, self._setting(paired_runs.INTERVAL_MS)) for one in workloads))
            self._keep(workloads[0].name, EVERY_SECOND, few, took_turns=True)
            self._keep(workloads[1].name, EVERY_SECOND, many, baseline=few, took_turns=True)

    def _million(self) -> None:
        distinct = self._options.million * self._parallelism
        workload = Abs6(self._options.seed, distinct=distinct)
        run = self._measure(workload, INTERVAL_MS, warm_up_records=WARM_UP_DRAWS * distinct)
        self._keep(f"abs6, {self._options.million:,} keys a slot", EVERY_SECOND, run)

    def _latency(self) -> None:
        """Measure the latency, with checkpoints, at a tenth of the highest throughput."""
        known = [one.records_per_s for one in self.measured if one.workload == "abs6" and one.setting == EVERY_SECOND]
        highest = max(known) if known else self._measure(Abs6(self._options.seed), INTERVAL_MS).records_per_s
        rate = LATENCY_SHARE * highest
        workload = Abs6(self._options.seed, rate=rate, timed=True)
        self._keep("abs6 at a tenth", EVERY_SECOND, self._measure(workload, INTERVAL_MS))

    def _measure(
        self, workload: Workload, interval_ms: int | None, *, seconds: float | None = None, warm_up_records: int = 0
    ) -> RunMeasurement:
        return measure(workload, self._setting(interval_ms, seconds, warm_up_records), self._session, self._options.directory)

    def _setting(self, interval_ms: int | None, seconds: float | None = None, warm_up_records: int = 0) -> RunSettings:
        return RunSettings(
            parallelism=self._parallelism,
            interval_ms=interval_ms,
            seconds=seconds or self._options.seconds,
            warm_up_s=self._options.warm_up_s,
            warm_up_records=warm_up_records,
        )

    def _keep(
        self,
        workload: str,
        setting: str,
        run: RunMeasurement,
        *,
        baseline: RunMeasurement | None = None,
        ceiling: CeilingRun | None = None,
        took_turns: bool = False,
    ) -> None:
        one = measurement(
            workload, setting, self._parallelism, run,
            baseline=baseline, ceiling=ceiling, took_turns=took_turns, about=self._about,
        )  # fmt: skip
        self.measured.append(one)
        append(one, self._options.directory / "results.jsonl")
        self._print(workload, setting, one.records_per_s, one.records_per_cpu_s, one.wrong)

    def _print(self, workload: str, setting: str, per_s: float, per_cpu_s: float, wrong: str | None = None) -> None:
        suffix = "" if wrong is None else f"   WRONG: {wrong}"
        self._console.print(
            f"{workload:<28} {self._parallelism} slots  {setting:<22} {per_s / 1e6:7.2f} M records/s "
            f"{per_cpu_s / 1e6:7.2f} M per cpu second{suffix}",
            highlight=False,
        )


def main(arguments: Sequence[str]) -> Literal[0, 1]:
    """Run the benchmark. Return 1 if a result was wrong."""
    options = parse(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(ERROR))
    options.directory.mkdir(parents=True, exist_ok=True)
    console = Console(width=150)
    run = about(options, arguments)
    console.print(
        f"seed {options.seed}, {options.pairs} pairs of runs of {options.seconds:g} s each, slots {options.parallelisms}, "
        f"parts {', '.join(options.parts)}; results: {options.directory / 'results.jsonl'}"
    )
    measured: list[BenchResult] = []
    for parallelism in options.parallelisms:
        suite = Suite(options, parallelism, run, console)
        suite.run()
        measured += suite.measured
    show(measured, console)
    return 0 if all(one.result_ok for one in measured) else 1
