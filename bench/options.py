"""The command line of ``make bench``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.arguments import add_only, parts_of, positive

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("abs6", "abs6-batch", "wordcount", "start", "unpaired", "million", "latency", "channels")


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """The measurements to take.

    ``pairs``: the number of pairs of runs: one run without checkpoints and one run with checkpoints, which take turns. Each run
    is measured for ``seconds`` of steady state, which begins ``warm_up_s`` after the job starts to run. ``directory`` receives
    checkpoints, input and results; it must be on a local disk.
    """

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
        """The number of pairs of runs for secondary measurements."""
        return min(self.pairs, 3)

    def settings(self) -> dict[str, object]:
        return {"seed": self.seed, "pairs": self.pairs, "seconds": self.seconds}


def parse(arguments: Sequence[str]) -> BenchOptions:
    parser = argparse.ArgumentParser(prog="make bench", description="Pass options as ARGS='...'.")
    parser.add_argument("--quick", action="store_true", help="measure one pair of runs for 5 s, instead of seven pairs for 20 s")
    parser.add_argument("--pairs", type=positive, help="number of pairs of runs (one without checkpoints, one with checkpoints)")
    parser.add_argument("--seconds", type=float, help="seconds for which each run is measured")
    parser.add_argument("--parallelism", default="2,4", help="comma-separated numbers of slots")
    add_only(parser, PARTS)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--directory", type=Path, default=ROOT / "build" / "bench", help="directory for checkpoints, input and results"
    )
    given = parser.parse_args(arguments)
    parts = parts_of(parser, given.only, PARTS)
    try:
        parallelisms = tuple(positive(one) for one in given.parallelism.split(","))
    except ValueError:
        parser.error(f"--parallelism {given.parallelism}: expected comma-separated numbers")
    if given.seconds is not None and given.seconds < 3:
        parser.error("--seconds: must be at least 3, because slots report about once a second")
    return BenchOptions(
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
