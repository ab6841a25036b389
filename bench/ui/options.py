"""The command line of ``make bench-ui``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.arguments import add_only, parts_of, positive

ROOT = Path(__file__).resolve().parent.parent.parent
PARTS = ("first-page", "simulated", "real")
SIMULATED_UI = ROOT / "build" / "bench" / "ui-fake"
"""The directory in which the Makefile builds the web UI with its simulated backend."""


@dataclass(frozen=True, slots=True)
class UiBenchOptions:
    """``visits``: the number of visits of the first page. ``seconds``: duration of the measurement of each tab, once the tab is
    drawn. ``rounds``: the number of rounds, each of which measures all tabs, one after the other. ``trace``: keep detailed
    traces. ``directory`` receives the results."""

    parts: tuple[str, ...]
    visits: int
    seconds: float
    rounds: int
    trace: bool
    simulated_ui: Path
    directory: Path

    def settings(self) -> dict[str, object]:
        kept = {name: value for name, value in asdict(self).items() if name not in ("parts", "simulated_ui", "directory")}
        return {**kept, "parts": ",".join(self.parts)}


def parse(arguments: Sequence[str]) -> UiBenchOptions:
    parser = argparse.ArgumentParser(prog="make bench-ui", description="Pass options as ARGS='...'.")
    parser.add_argument("--quick", action="store_true", help="measure three visits, and each tab once for six seconds")
    add_only(parser, PARTS)
    parser.add_argument("--visits", type=positive, help="number of visits of the first page")
    parser.add_argument("--seconds", type=positive, help="seconds for which each tab is measured")
    parser.add_argument(
        "--rounds", type=positive, help="measurements of each tab; a tab meets its target if most measurements do"
    )
    parser.add_argument("--trace", action="store_true", help="keep a trace of each tab, for the performance panel of a browser")
    parser.add_argument("--simulated-ui", type=Path, default=SIMULATED_UI, help="the web UI, built with its simulated backend")
    parser.add_argument("--directory", type=Path, default=ROOT / "build" / "bench", help="directory for results")
    given = parser.parse_args(arguments)
    parts = parts_of(parser, given.only, PARTS)
    return UiBenchOptions(
        parts=parts,
        visits=given.visits or (3 if given.quick else 7),
        seconds=given.seconds or (6.0 if given.quick else 20.0),
        rounds=given.rounds or (1 if given.quick else 3),
        trace=given.trace,
        simulated_ui=given.simulated_ui.resolve(),
        directory=given.directory.resolve(),
    )
