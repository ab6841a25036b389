"""The command ``make chaos``, which executes many chaos runs, each with its own seed, and prints a summary."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.chaos.chaos_run import ChaosReport, ChaosRun
from tests.chaos.plan import ChaosPlan, make_plan
from tests.standalone_cluster import StandaloneCluster

STANDALONE_SHARE = {"local": 0.0, "mix": 0.2, "standalone": 1.0}
ROOT = Path(__file__).parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="chaos", description="Run real jobs with random kills and pauses, and check their output."
    )
    parser.add_argument("--runs", type=int, default=200, help="number of runs (200)")
    parser.add_argument("--seed", type=int, help="seed of a run to repeat; the faults are the same, but their exact times differ")
    parser.add_argument("--first-seed", type=int, help="first seed (random)")
    parser.add_argument(
        "--master",
        choices=STANDALONE_SHARE,
        default="mix",
        help="Spark master; with the default mix, a fifth of the runs use a standalone cluster, the others a local master",
    )
    parser.add_argument("--jobs", type=int, default=1, help="concurrent runs (1)")
    parser.add_argument("--limit", type=float, default=300.0, metavar="SECONDS", help="time limit of a run (300)")
    parser.add_argument(
        "--directory", type=Path, default=ROOT / "build" / "chaos", help="directory for the files of failed runs (build/chaos)"
    )
    parser.add_argument("--keep", action="store_true", help="keep the directories of all runs, not only of failed runs")
    options = parser.parse_args()
    seeds = [options.seed] if options.seed is not None else _seeds(options.first_seed, options.runs)
    plans = [make_plan(seed, standalone_share=STANDALONE_SHARE[options.master]) for seed in seeds]
    suite = _ChaosSuite(options)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: suite.stop.set())
    try:
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(suite.run, plans))
    finally:
        suite.close()
    suite.print_summary()
    return 0 if suite.failed == 0 and suite.passed == len(plans) else 1


def _seeds(first: int | None, runs: int) -> list[int]:
    first = random.SystemRandom().randrange(1_000_000_000) if first is None else first
    return list(range(first, first + runs))


class _ChaosSuite:
    """All chaos runs of the command. The runs share one standalone cluster, which starts when a run first needs the cluster."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._lock = threading.Lock()
        self.stop = threading.Event()
        """Once this event is set, runs end immediately and are not counted."""
        self._cluster: StandaloneCluster | None = None
        self._completed = 0
        self._injected: Counter[str] = Counter()
        self._missed: Counter[str] = Counter()
        self._notes = 0
        self.passed = 0
        self.failed = 0

    def run(self, plan: ChaosPlan) -> None:
        if self.stop.is_set():
            return
        directory = self._options.directory / f"{plan.seed}-{os.getpid()}"
        directory.mkdir(parents=True)
        report = ChaosRun(plan, directory, self._cluster_for(plan), limit_s=self._options.limit, stop=self.stop).run()
        if self.stop.is_set():
            shutil.rmtree(directory, ignore_errors=True)
            return
        if report.problems:
            (directory / "report.txt").write_text(f"{plan}\n\n" + "\n".join(report.problems) + "\n")
        elif not (self._options.keep or report.notes):
            shutil.rmtree(directory, ignore_errors=True)
        with self._lock:
            self._count(report, directory)

    def _cluster_for(self, plan: ChaosPlan) -> StandaloneCluster | None:
        if not plan.standalone:
            return None
        with self._lock:
            if self._cluster is None:
                # Each concurrent run needs cores for two drivers: a zombie and its successor.
                cores = 8 * self._options.jobs
                self._cluster = StandaloneCluster(workers=2, cores=cores, memory_mb=512 * cores)
                _ClusterThread(self._cluster).start()
            return self._cluster

    def _count(self, report: ChaosReport, directory: Path) -> None:
        self._completed += 1
        self._injected.update(fault.kind for fault in report.injected)
        self._missed.update(fault.kind for fault in report.missed)
        self._notes += len(report.notes)
        if report.problems:
            self.failed += 1
        else:
            self.passed += 1
        for line in _lines(report, self._completed, directory, self._options.master):
            print(line, flush=True)

    def print_summary(self) -> None:
        for kind in sorted({*self._injected, *self._missed}):
            missed = f" ({self._missed[kind]} not injected)" if self._missed[kind] else ""
            print(f"  {self._injected[kind]:4} x {kind}{missed}")
        if self._notes:
            print(f"  {self._notes:4} superseded drivers exited with an exit code other than 3")
        print(f"{self.passed} passed, {self.failed} failed", flush=True)

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.stop()


class _ClusterThread(threading.Thread):
    """Starts the cluster and then waits forever. This thread must not end, because the processes of the cluster end with the thread
    that started them."""

    def __init__(self, cluster: StandaloneCluster) -> None:
        super().__init__(name="cluster", daemon=True)
        self._cluster = cluster
        self._up = threading.Event()
        self._error: BaseException | None = None

    def start(self) -> None:
        super().start()
        self._up.wait()
        if self._error is not None:
            raise self._error

    def run(self) -> None:
        try:
            self._cluster.start()
        except BaseException as error:  # noqa: BLE001  # raised in start()
            self._error = error
            return
        finally:
            self._up.set()
        threading.Event().wait()


def _lines(report: ChaosReport, number: int, directory: Path, master: str) -> Iterator[str]:
    plan = report.plan
    master_kind = "standalone" if plan.standalone else "local"
    slots = ">".join(str(count) for count in plan.parallelisms)
    injected = "; ".join(str(fault) for fault in report.injected) or "no fault injected"
    head = f"run {number} seed {plan.seed}: {master_kind}, {slots} slots, {plan.input}, {report.rows:,} rows | {injected}"
    codes = ",".join(str(code) for code in report.exits)
    tail = f"drivers {codes} | {report.log_entries} log entries | {report.took_s:.1f} s"
    yield f"{head} | {tail} | {'FAILED' if report.problems else 'ok'}"
    yield from (f"    note: {note} (see {os.path.relpath(directory)})" for note in report.notes)
    yield from (f"    {problem}" for problem in report.problems)
    if report.problems:
        shown = os.path.relpath(directory)
        replay = f"{os.path.relpath(sys.executable)} {os.path.relpath(sys.argv[0])} --seed {plan.seed} --master {master}"
        yield f"    kept: {shown}    repeat: {replay}"
