"""What is measured, and for how long."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.arguments import add_only, parts_of, positive

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("abs6", "abs6-batch", "wordcount", "start", "alone", "million", "latency")


@dataclass(frozen=True, slots=True)
class Plan:
    """``pairs`` of runs without and with checkpoints that take turns, each measured for ``seconds`` in steady state, which begins
    ``warm_up_s`` after the job runs. ``directory``: for checkpoints, input and results; a local disk."""

    pairs: int
    seconds: float
    warm_up_s: float
    parallelisms: tuple[int, ...]
    parts: tuple[str, ...]
    seed: int
    million: int
    word_file_bytes: int
    directory: Path

    @property
    def few_pairs(self) -> int:
        """For what is measured beside the main thing."""
        return min(self.pairs, 3)


def parse(arguments: Sequence[str]) -> Plan:
    parser = argparse.ArgumentParser(prog="make bench", description="Options go into ARGS='...'")
    parser.add_argument("--quick", action="store_true", help="one pair of five seconds each, in place of seven of twenty")
    parser.add_argument("--pairs", type=positive, help="of runs without and with checkpoints, which take turns by the second")
    parser.add_argument("--seconds", type=float, help="measured time of each run")
    parser.add_argument("--parallelism", default="2,4", help="numbers of slots, separated by commas")
    add_only(parser, PARTS)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--directory", type=Path, default=ROOT / "build" / "bench", help="for checkpoints, input and results")
    given = parser.parse_args(arguments)
    parts = parts_of(parser, given.only, PARTS)
    try:
        parallelisms = tuple(positive(one) for one in given.parallelism.split(","))
    except ValueError:
        parser.error(f"--parallelism {given.parallelism}: write numbers separated by commas")
    if given.seconds is not None and given.seconds < 1:
        parser.error("--seconds: slots report twice a second, so at least 1")
    return Plan(
        pairs=given.pairs or (1 if given.quick else 7),
        seconds=given.seconds or (5.0 if given.quick else 20.0),
        warm_up_s=1.5 if given.quick else 3.0,
        parallelisms=parallelisms,
        parts=parts,
        seed=given.seed,
        million=200_000 if given.quick else 1_000_000,
        word_file_bytes=(4 if given.quick else 30) << 20,
        directory=given.directory.resolve(),
    )
