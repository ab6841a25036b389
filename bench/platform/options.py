"""What is measured of the control plane, with how much in the tables, and for how long."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.arguments import add_only, parts_of, positive

ROOT = Path(__file__).resolve().parent.parent.parent
PARTS = ("reading", "ingest", "streams", "mix", "growth")


@dataclass(frozen=True, slots=True)
class Plan:
    """``jobs``, ``checkpoints``, ``events``: in the tables before anything is measured; of ``sampled_jobs`` there are also samples of
    metrics of the last quarter of an hour, of the largest job those of ``samples_h`` hours. ``rounds``: how often each page is
    read; ``clients``: by how many at once after that. ``seconds``: of each measurement of the ingest, the streams and the mix.
    ``offered``: events a second of all drivers together where they do not send as fast as they can. ``directory``: for results."""

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


def parse(arguments: Sequence[str]) -> Plan:
    parser = argparse.ArgumentParser(prog="make bench-platform", description="Options go into ARGS='...'")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rows, and five seconds in place of thirty")
    add_only(parser, PARTS)
    parser.add_argument("--jobs", type=positive, help="in the tables")
    parser.add_argument("--checkpoints", type=positive, help="in the tables")
    parser.add_argument("--events", type=positive, help="in the tables")
    parser.add_argument("--seconds", type=positive, help="of each measurement but reading")
    parser.add_argument("--rounds", type=positive, help="how often each page is read")
    parser.add_argument("--clients", type=positive, default=4, help="that read at once")
    parser.add_argument("--drivers", type=positive, default=8, help="that send as fast as they can")
    parser.add_argument("--batches", default="1000,300,100,20", help="events a request, separated by commas")
    parser.add_argument("--offered", type=positive, default=1_000, help="events a second beside streams and readers")
    parser.add_argument("--streams", type=positive, help="open event streams")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--directory", type=Path, default=ROOT / "build" / "bench", help="for results")
    given = parser.parse_args(arguments)
    parts = parts_of(parser, given.only, PARTS)
    try:
        batches = tuple(positive(one) for one in given.batches.split(","))
    except ValueError:
        parser.error(f"--batches {given.batches}: write numbers separated by commas")
    quick = given.quick
    plan = Plan(
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
    least = 4 * plan.checkpoints + 100 * plan.jobs
    if plan.checkpoints < plan.jobs or plan.events < least:
        parser.error(
            f"--checkpoints, --events: {plan.jobs:,} jobs have at least as many checkpoints and, with these, {least:,} events"
        )
    return plan
