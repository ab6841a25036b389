"""Which measurements are taken, in which order."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from logging import ERROR
from pathlib import Path
from typing import Literal

import structlog
from rich.console import Console

from bench import turns
from bench.abs6 import Abs6
from bench.ceiling_run import Ceiling, CeilingRun
from bench.measuring import Run, Setting, Workload, measure
from bench.options import Plan, parse
from bench.results import EVERY_SECOND, NONE, START, Measurement, append, measurement, show
from bench.turns import Pair
from bench.wordcount import WordCount
from bench.words import write_text
from weir.spark.launch import RunOptions, session_for
from weir.spark.planner import LazySession

TEXT_NAMES = 400
WARM_UP_DRAWS = 8
"""Records a key before a state of many keys counts as full: three keys in ten thousand have not come by then."""
LATENCY_SHARE = 0.1
INTERVAL_MS = 1_000
PAIRED, ALONE = {"abs6", "abs6-batch", "wordcount"}, {"start", "alone", "million", "latency"}
"""Parts of two runs that take turns; parts that have the machine to themselves, on one Spark session."""


class Suite:
    """All measurements at one parallelism."""

    def __init__(self, plan: Plan, parallelism: int, about: dict[str, object], console: Console) -> None:
        self.measured: list[Measurement] = []
        self._plan = plan
        self._parallelism = parallelism
        self._about = about
        self._console = console
        self._ceiling = Ceiling(max(2.0, plan.seconds / 2))
        options = RunOptions(checkpoint_dir=str(plan.directory), parallelism=parallelism)
        self._session: LazySession = session_for(options, "bench")

    def run(self) -> None:
        plan, parts = self._plan, self._plan.parts
        if PAIRED & set(parts):
            with contextlib.closing(Pair(self._parallelism, plan.directory)) as pair:
                if "abs6" in parts:
                    self._pairs(pair, Abs6(plan.seed), plan.pairs, beside_ceiling=True)
                if "abs6-batch" in parts:
                    self._pairs(pair, Abs6(plan.seed, emit="batch"), plan.few_pairs, beside_ceiling=True)
                if "wordcount" in parts:
                    self._pairs(pair, WordCount(self._text()), plan.pairs, beside_ceiling=False)
        if ALONE & set(parts):
            with contextlib.closing(self._session):
                if "start" in parts:
                    self._start_up()
                if "alone" in parts:
                    for workload in (Abs6(plan.seed), WordCount(self._text())):
                        self._keep(f"{workload.name}, alone", EVERY_SECOND, self._measure(workload, INTERVAL_MS))
                if "million" in parts:
                    self._million()
                if "latency" in parts:
                    self._latency()

    def _text(self) -> Path:
        plan = self._plan
        return write_text(plan.directory, seed=plan.seed, file_bytes=plan.word_file_bytes, names=TEXT_NAMES)

    def _start_up(self) -> None:
        """Cold: Spark, its Python daemon and all compiled code are to be loaded. Warm: on the same session."""
        began = time.monotonic()
        self._session.get()
        session_s = time.monotonic() - began
        cold = self._measure(Abs6(self._plan.seed), None, seconds=2.0)
        warm = self._measure(Abs6(self._plan.seed), None, seconds=2.0)
        self._keep(START, f"cold, and {session_s:.1f} s for the Spark session before it", cold)
        self._keep(START, "on warm Spark", warm)

    def _pairs(self, pair: Pair, workload: Workload, pairs: int, *, beside_ceiling: bool) -> None:
        for _ in range(pairs):
            ceiling = self._ceiling.run() if beside_ceiling else None
            if ceiling is not None:
                self._say("ceiling", "", ceiling.records_per_s, ceiling.records_per_cpu_s)
            without, with_ = pair.measure(workload, (self._setting(None), self._setting(turns.INTERVAL_MS)))
            self._keep(workload.name, NONE, without, ceiling=ceiling, took_turns=True)
            self._keep(workload.name, EVERY_SECOND, with_, baseline=without, ceiling=ceiling, took_turns=True)

    def _million(self) -> None:
        distinct = self._plan.million * self._parallelism
        workload = Abs6(self._plan.seed, distinct=distinct)
        run = self._measure(workload, INTERVAL_MS, warm_up_records=WARM_UP_DRAWS * distinct)
        self._keep(f"abs6, {self._plan.million:,} keys a slot", EVERY_SECOND, run)

    def _latency(self) -> None:
        """At a tenth of the highest rate that was measured here with checkpoints."""
        known = [one.records_per_s for one in self.measured if one.workload == "abs6" and one.setting == EVERY_SECOND]
        highest = max(known) if known else self._measure(Abs6(self._plan.seed), INTERVAL_MS).records_per_s
        rate = LATENCY_SHARE * highest
        workload = Abs6(self._plan.seed, rate=rate, timed=True)
        self._keep("abs6 at a tenth", EVERY_SECOND, self._measure(workload, INTERVAL_MS))

    def _measure(
        self, workload: Workload, interval_ms: int | None, *, seconds: float | None = None, warm_up_records: int = 0
    ) -> Run:
        return measure(workload, self._setting(interval_ms, seconds, warm_up_records), self._session, self._plan.directory)

    def _setting(self, interval_ms: int | None, seconds: float | None = None, warm_up_records: int = 0) -> Setting:
        return Setting(
            parallelism=self._parallelism,
            interval_ms=interval_ms,
            seconds=seconds or self._plan.seconds,
            warm_up_s=self._plan.warm_up_s,
            warm_up_records=warm_up_records,
        )

    def _keep(
        self,
        workload: str,
        setting: str,
        run: Run,
        *,
        baseline: Run | None = None,
        ceiling: CeilingRun | None = None,
        took_turns: bool = False,
    ) -> None:
        one = measurement(
            workload, setting, self._parallelism, run,
            baseline=baseline, ceiling=ceiling, took_turns=took_turns, about=self._about,
        )  # fmt: skip
        self.measured.append(one)
        append(one, self._plan.directory / "results.jsonl")
        self._say(workload, setting, one.records_per_s, one.records_per_cpu_s, one.wrong)

    def _say(self, workload: str, setting: str, per_s: float, per_cpu_s: float, wrong: str | None = None) -> None:
        verdict = "" if wrong is None else f"   WRONG: {wrong}"
        self._console.print(
            f"{workload:<28} {self._parallelism} slots  {setting:<22} {per_s / 1e6:7.2f} M records/s "
            f"{per_cpu_s / 1e6:7.2f} M per cpu second{verdict}",
            highlight=False,
        )


def main(arguments: Sequence[str]) -> Literal[0, 1]:
    """1: a result was wrong."""
    plan = parse(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(ERROR))
    plan.directory.mkdir(parents=True, exist_ok=True)
    console = Console(width=150)
    about: dict[str, object] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "arguments": list(arguments),
        "seed": plan.seed,
        "pairs": plan.pairs,
        "seconds": plan.seconds,
    }
    console.print(
        f"seed {plan.seed}, {plan.pairs} pairs of {plan.seconds:g} s, slots {plan.parallelisms}, parts {', '.join(plan.parts)}; "
        f"results go to {plan.directory / 'results.jsonl'}"
    )
    measured: list[Measurement] = []
    for parallelism in plan.parallelisms:
        suite = Suite(plan, parallelism, about, console)
        suite.run()
        measured += suite.measured
    show(measured, console)
    return 0 if all(one.result_ok for one in measured) else 1
