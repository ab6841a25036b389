"""The command line of ``make bench-platform``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.arguments import add_only, parts_of, positive

ROOT = Path(__file__).resolve().parent.parent.parent
PARTS = ("reading", "ingest", "streams", "mix", "growth")
MONTH = "month"
"""The part that has its own tables. It is measured only if ``--only`` names it, because loading a month of checkpoints takes minutes."""


@dataclass(frozen=True, slots=True)
class PlatformBenchOptions:
    """What to measure, and with which data.

    ``jobs``, ``checkpoints``, ``events``: rows in the tables before the measurements. ``sampled_jobs``: the number of jobs that
    have metric samples of the last 15 minutes. The largest job has samples of ``samples_h`` hours. ``rounds``: how often
    each page is read, first by one client, then by ``clients`` clients at the same time. ``seconds``: duration of each measurement
    of ingest, streams and mix, and half the duration of growth. ``offered``: the events per second that all drivers together
    send in the measurements of streams, mix and growth. ``directory`` receives the results.
    """

    jobs: int
    checkpoints: int
    events: int
    sampled_jobs: int
    samples_h: float
    rounds: int
    clients: int
    seconds: float
    batches: tuple[int, ...]
    drivers: int
    offered: int
    streams: int
    parts: tuple[str, ...]
    seed: int
    directory: Path

    def settings(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if name != "directory"}


def parse(arguments: Sequence[str]) -> PlatformBenchOptions:
    parser = argparse.ArgumentParser(prog="make bench-platform", description="Pass options as ARGS='...'.")
    parser.add_argument("--quick", action="store_true", help="use a twentieth of the rows, and measure for 5 s instead of 30 s")
    add_only(parser, PARTS, optional=(MONTH,))
    parser.add_argument("--jobs", type=positive, help="number of jobs in the tables")
    parser.add_argument("--checkpoints", type=positive, help="number of checkpoints in the tables")
    parser.add_argument("--events", type=positive, help="number of events in the tables")
    parser.add_argument(
        "--seconds", type=positive, help="duration of a measurement of ingest, streams or mix; growth takes twice as long"
    )
    parser.add_argument("--rounds", type=positive, help="number of reads of each page")
    parser.add_argument("--clients", type=positive, default=4, help="number of concurrent readers")
    parser.add_argument("--drivers", type=positive, default=8, help="number of drivers that send at full speed")
    parser.add_argument("--batches", default="1000,300,100,20", help="comma-separated batch sizes, in events per request")
    parser.add_argument(
        "--offered", type=positive, default=1_000, help="events per second in the measurements of streams, mix and growth"
    )
    parser.add_argument("--streams", type=positive, help="number of open event streams")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--directory", type=Path, default=ROOT / "build" / "bench", help="directory for results")
    given = parser.parse_args(arguments)
    parts = parts_of(parser, given.only, (*PARTS, MONTH))
    try:
        batches = tuple(positive(one) for one in given.batches.split(","))
    except ValueError:
        parser.error(f"--batches {given.batches}: expected comma-separated numbers")
    quick = given.quick
    options = PlatformBenchOptions(
        jobs=given.jobs or (50 if quick else 1_000),
        checkpoints=given.checkpoints or (5_000 if quick else 100_000),
        events=given.events or (50_000 if quick else 1_000_000),
        sampled_jobs=5 if quick else 25,
        samples_h=1.0 if quick else 6.0,
        rounds=given.rounds or (5 if quick else 40),
        clients=given.clients,
        seconds=given.seconds or (5.0 if quick else 30.0),
        batches=batches,
        drivers=given.drivers,
        offered=given.offered,
        streams=given.streams or (40 if quick else 200),
        parts=parts,
        seed=given.seed,
        directory=given.directory.resolve(),
    )
    least = 4 * options.checkpoints + 100 * options.jobs
    if options.checkpoints < options.jobs or options.events < least:
        parser.error(
            f"--checkpoints, --events: {options.jobs:,} jobs need at least {options.jobs:,} checkpoints; "
            f"{options.jobs:,} jobs with {options.checkpoints:,} checkpoints need at least {least:,} events"
        )
    return options
