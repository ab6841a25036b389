"""What is measured of the web interface, and for how long."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.arguments import add_only, parts_of, positive

ROOT = Path(__file__).resolve().parent.parent.parent
PARTS = ("first-page", "invented", "real")
INVENTED = ROOT / "build" / "bench" / "ui-invented"
"""Where the Makefile builds the interface with its invented backend."""


@dataclass(frozen=True, slots=True)
class UiBenchOptions:
    """``visits``: of the first page, each with nothing in the browser's cache. ``seconds``: how long each tab is watched once it is drawn;
    ``rounds``: how often all tabs are, one round after the other. ``trace``: also keep the browser's traces. ``directory``: for results."""

    parts: tuple[str, ...]
    visits: int
    seconds: float
    rounds: int
    trace: bool
    invented: Path
    directory: Path

    def settings(self) -> dict[str, object]:
        kept = {name: value for name, value in asdict(self).items() if name not in ("parts", "invented", "directory")}
        return {**kept, "parts": ",".join(self.parts)}


def parse(arguments: Sequence[str]) -> UiBenchOptions:
    parser = argparse.ArgumentParser(prog="make bench-ui", description="Options go into ARGS='...'")
    parser.add_argument("--quick", action="store_true", help="three visits, and six seconds of each tab, once")
    add_only(parser, PARTS)
    parser.add_argument("--visits", type=positive, help="of the first page")
    parser.add_argument("--seconds", type=positive, help="how long each tab is watched once it is drawn")
    parser.add_argument("--rounds", type=positive, help="how often all tabs are measured: what most of them say counts")
    parser.add_argument("--trace", action="store_true", help="keep a trace of each tab, for the performance panel of a browser")
    parser.add_argument("--invented", type=Path, default=INVENTED, help="the interface, built with its invented backend")
    parser.add_argument("--directory", type=Path, default=ROOT / "build" / "bench", help="for results")
    given = parser.parse_args(arguments)
    parts = parts_of(parser, given.only, PARTS)
    return UiBenchOptions(
        parts=parts,
        visits=given.visits or (3 if given.quick else 7),
        seconds=given.seconds or (6.0 if given.quick else 20.0),
        rounds=given.rounds or (1 if given.quick else 3),
        trace=given.trace,
        invented=given.invented.resolve(),
        directory=given.directory.resolve(),
    )
