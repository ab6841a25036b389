"""What the command lines of all benchmarks have in common."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def positive(text: str) -> int:
    """Raises ValueError."""
    number = int(text)
    if number < 1:
        raise ValueError(f"{number} is not positive")
    return number


def add_only(parser: argparse.ArgumentParser, parts: Sequence[str]) -> None:
    """``--only``: which of the parts are measured; all, if nobody says."""
    parser.add_argument("--only", default=",".join(parts), help=f"parts, separated by commas, of: {', '.join(parts)}")


def parts_of(parser: argparse.ArgumentParser, only: str, parts: Sequence[str]) -> tuple[str, ...]:
    """Ends the program if one of them is not there."""
    chosen = tuple(only.split(","))
    unknown = [part for part in chosen if part not in parts]
    if unknown:
        parser.error(f"no part {', '.join(unknown)}: there are {', '.join(parts)}")
    return chosen
