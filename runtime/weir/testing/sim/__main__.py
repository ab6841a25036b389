"""``python -m weir.testing.sim --seed N`` replays one run. ``--seeds N`` or ``--seeds FROM:TO`` runs many seeds."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from functools import partial

from weir.testing.sim.run import RunResult, run, silence_logs

PRINTED_MAX = 10


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m weir.testing.sim", description="Run the deterministic simulator of Weir.")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="replay one run")
    which.add_argument("--seeds", help="number of runs, or FROM:TO (TO is excluded)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="number of processes")
    parser.add_argument("--wide", action="store_true", help="give every job 8 to 64 slots (without --wide: one job in 100)")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the events of the run (with --seed)")
    options = parser.parse_args()
    wide = True if options.wide else None
    silence_logs()
    if options.seed is not None:
        return _report(run(options.seed, verbose=options.verbose, wide=wide))
    first, _, last = options.seeds.rpartition(":")
    return _many(range(int(first or 0), int(last)), options.jobs, wide)


def _report(result: RunResult) -> int:
    print(
        f"seed {result.seed}: {result.events} events, {result.virtual_ms} ms of virtual time, "
        f"{result.generations} generations, checkpoints up to {result.checkpoints}"
    )
    if result.violation is None:
        print("every invariant held")
        return 0
    print(f"VIOLATION: {result.violation}")
    return 1


def _many(seeds: range, jobs: int, wide: bool | None) -> int:
    started = time.monotonic()
    failures: list[RunResult] = []
    generations = checkpoints = count = 0
    for result in _results(seeds, jobs, wide):
        count += 1
        generations += result.generations
        checkpoints += result.checkpoints
        if result.violation is not None:
            failures.append(result)
            if len(failures) <= PRINTED_MAX:
                print(
                    f"seed {result.seed}: {result.violation}\n"
                    f"  replay: python -m weir.testing.sim --seed {result.seed}{' --wide' if wide else ''} -v",
                    flush=True,
                )
        if count % 10_000 == 0:
            print(f"{count} of {len(seeds)} runs, {len(failures)} failed", flush=True)
    seconds = time.monotonic() - started
    print(
        f"{count} runs in {seconds:.0f} s ({1000 * seconds * jobs / max(count, 1):.1f} ms each on one core), "
        f"{generations} generations, {checkpoints} checkpoints: {len(failures)} failed"
    )
    return 1 if failures else 0


def _results(seeds: range, jobs: int, wide: bool | None) -> Iterator[RunResult]:
    run_one = partial(run, wide=wide)
    if jobs == 1:
        yield from map(run_one, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, initializer=silence_logs) as pool:
        yield from pool.imap_unordered(run_one, seeds, chunksize=20)


if __name__ == "__main__":
    sys.exit(main())
