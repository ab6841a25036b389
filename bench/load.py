"""``make bench-load``: the cores and the latency of abs6 at rates far below its maximum, with a checkpoint every second.

Prints one line per measurement, and appends it as a JSON object to build/bench/load.jsonl: ``slots``, ``rate`` (records per
second; 0 means a job without input), ``cores`` (CPU time per second of all processes of the job: driver, Java and slots),
``p50_ms`` and ``p99_ms``. The latency of a record is the time from its creation to its arrival at the sink. A source with a rate
creates a record whenever the rate allows it, but emits its records in batches, every ``source_interval_ms``. The sink measures the
time since the emission (``emission_p50_ms``, ``emission_p99_ms``). ``p50_ms`` and ``p99_ms`` add the time before the emission, which
is uniformly distributed over the interval.

Exit code 1 means that a result was wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RATES = "0,10,30000,300000,1000000,half"
SHARES = {"tenth": 0.1, "half": 0.5}
MAXIMUM = "max"
WARM_UP_S = 4.0


class LoadProcess:
    """A process with a Spark session, which measures the Weir of one source tree. The process is paused between measurements, so
    that it does not use a core while another process measures."""

    def __init__(self, tree: Path, slots: int, directory: Path) -> None:
        paths = [tree / "runtime", tree / "backend", tree / "workers", tree]
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "bench" / "load_run.py"), str(tree), str(slots), str(directory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tree,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        )  # fmt: skip
        self._tree: tuple[int, ...] = ()
        self._answer()  # the session has started
        self._pause()

    def measure(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the measurement of one run. Raises SystemExit if the run fails."""
        assert self._process.stdin is not None
        resume(self._tree)
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        self._pause()
        return answer

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("The measurement failed. The error is printed above.")
        return dict(json.loads(answer))

    def _pause(self) -> None:
        self._tree = process_tree(self._process.pid)
        pause(self._tree)

    def close(self) -> None:
        resume(self._tree)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


@contextlib.contextmanager
def checkout(commit: str, directory: Path) -> Iterator[Path]:
    """Check out ``commit`` into a temporary work tree."""
    tree = directory / f"tree-{commit}"
    subprocess.run(
        ["git", "-C", str(ROOT), "worktree", "add", "--quiet", "--force", "--detach", str(tree), commit],
        check=True,
        stdout=sys.stderr,
    )
    try:
        yield tree
    finally:
        subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(tree)], check=True)


class Load:
    """The measurements at one number of slots."""

    def __init__(self, options: argparse.Namespace, slots: int, file: Path) -> None:
        self._options = options
        self._slots = slots
        self._file = file
        self._maximum: float | None = None
        self.failed = False

    def run(self) -> None:
        with contextlib.closing(LoadProcess(ROOT, self._slots, self._options.directory)) as process:
            for rate in self._options.rates:
                self._keep(rate, self._measure(process, self._rate(process, rate)))

    def compare(self, tree: Path) -> None:
        """Measure this tree and ``tree`` in turns, ``pairs`` times each, and print the ratio of the medians."""
        options = self._options
        with (
            contextlib.closing(LoadProcess(ROOT, self._slots, options.directory)) as ours,
            contextlib.closing(LoadProcess(tree, self._slots, options.directory)) as theirs,
        ):
            for rate in options.rates:
                number = self._rate(theirs, rate)
                pairs: list[tuple[dict[str, Any], dict[str, Any]]] = []
                for pair in range(options.pairs):
                    order = (ours, theirs) if pair % 2 == 0 else (theirs, ours)
                    first, second = (self._measure(process, number) for process in order)
                    pairs.append((first, second) if pair % 2 == 0 else (second, first))
                    self._keep(rate, pairs[-1][0])
                    self._keep(rate, pairs[-1][1] | {"commit": options.against})
                for name in ("records_per_s", "cores", "emission_p50_ms", "emission_p99_ms"):
                    values = [(a[name], b[name]) for a, b in pairs if a[name] is not None and b[name] is not None]
                    if values:
                        here, there = (statistics.median(side) for side in zip(*values, strict=True))
                        ratio = f"{here / there:.0%}" if there else "-"
                        print(
                            f"{self._slots:3} slots {rate!s:>10}/s  {name:7} {here:8.2f}, {options.against} {there:8.2f}: {ratio}"
                        )

    def _rate(self, process: LoadProcess, rate: str) -> float | None:
        if rate == MAXIMUM:
            return None
        if rate not in SHARES:
            return float(rate)
        if self._maximum is None:
            self._maximum = self._measure(process, None)["records_per_s"]
            print(f"{self._slots:3} slots: the maximum is {self._maximum:,} records/s")
        return round(self._maximum * SHARES[rate])

    def _measure(self, process: LoadProcess, rate: float | None) -> dict[str, Any]:
        request = {
            "rate": rate, "seconds": self._options.seconds, "warm_up_s": WARM_UP_S, "buffer_timeout_ms": self._options.buffer_timeout_ms,
        }  # fmt: skip
        return {"slots": self._slots, "rate": rate, "buffer_timeout_ms": self._options.buffer_timeout_ms} | process.measure(
            request
        )

    def _keep(self, name: str, one: dict[str, Any]) -> None:
        share = {"share_of_maximum": SHARES[name]} if name in SHARES else {}
        load = {"load": round(os.getloadavg()[0], 2)}
        with self._file.open("a") as lines:
            lines.write(json.dumps(one | share | load) + "\n")
        rate = MAXIMUM if one["rate"] is None else f"{one['rate']:,.0f}"
        p50, p99 = ("-" if one[key] is None else f"{one[key]:.1f}" for key in ("p50_ms", "p99_ms"))
        wrong = "" if one["wrong"] is None else f"   WRONG: {one['wrong']}"
        self.failed |= one["wrong"] is not None
        print(
            f"{self._slots:3} slots {rate:>10} records/s {one['records_per_s']:>10,} read {one['cores']:6.2f} cores (slots {one['slot_cores']:.2f})  "
            f"p50 {p50:>6} ms  p99 {p99:>6} ms  checkpoint {one['checkpoint_ms_avg']:.0f} ms  {one.get('commit', '')}{wrong}",
            flush=True,
        )  # fmt: skip


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-load", description="Pass options as ARGS='...'.")
    parser.add_argument("--slots", default="2,8,16", help="comma-separated numbers of slots")
    parser.add_argument(
        "--rates", default=RATES, help="comma-separated records per second; max, half and tenth mean the maximum and shares of it"
    )
    parser.add_argument("--seconds", type=float, default=12.0, help="seconds for which each run is measured")
    parser.add_argument("--buffer-timeout-ms", type=float, help="the buffer timeout of the job; the default is adaptive")
    parser.add_argument("--against", metavar="COMMIT", help="measure in turns with this commit, and print the ratios")
    parser.add_argument("--pairs", type=positive, default=3, help="number of runs of each commit, with --against")
    parser.add_argument("--directory", type=Path, default=ROOT / "build" / "bench", help="directory for checkpoints and results")
    options = parser.parse_args(arguments)
    options.rates = options.rates.split(",")
    options.directory = options.directory.resolve()
    try:
        options.slots = [positive(one) for one in options.slots.split(",")]
        for rate in options.rates:
            if rate not in (*SHARES, MAXIMUM) and float(rate) < 0:
                raise ValueError(f"{rate} is negative")
    except ValueError as error:
        parser.error(f"--slots or --rates: {error}. Write comma-separated numbers.")
    if options.seconds < 3:
        parser.error("--seconds: must be at least 3, because slots report about once a second")
    return options


def main(arguments: Sequence[str]) -> int:
    """Run the measurements. Return 1 if a result was wrong."""
    options = parse(arguments)
    options.directory.mkdir(parents=True, exist_ok=True)
    failed = False
    with contextlib.ExitStack() as stack:
        tree = stack.enter_context(checkout(options.against, options.directory)) if options.against else None
        for slots in options.slots:
            load = Load(options, slots, options.directory / "load.jsonl")
            load.run() if tree is None else load.compare(tree)
            failed |= load.failed
    return int(failed)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from bench.arguments import positive
    from bench.process_control import pause, process_tree, resume

    sys.exit(main(sys.argv[1:]))
else:
    from bench.arguments import positive
    from bench.process_control import pause, process_tree, resume
