"""Command-line arguments that all benchmarks share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def positive(text: str) -> int:
    """Parse a positive integer. Raises ValueError."""
    number = int(text)
    if number < 1:
        raise ValueError(f"{number} is not positive")
    return number


def add_only(parser: argparse.ArgumentParser, parts: Sequence[str], optional: Sequence[str] = ()) -> None:
    """Add ``--only``, which selects the parts to measure. The default is all parts except ``optional``."""
    known = ", ".join((*parts, *optional))
    parser.add_argument("--only", default=",".join(parts), help=f"parts to measure, separated by commas, from: {known}")


def parts_of(parser: argparse.ArgumentParser, only: str, parts: Sequence[str]) -> tuple[str, ...]:
    """Parse the value of ``--only``. Exits with a usage error if a part is unknown."""
    chosen = tuple(only.split(","))
    unknown = [part for part in chosen if part not in parts]
    if unknown:
        parser.error(f"no part {', '.join(unknown)}: choose from {', '.join(parts)}")
    return chosen
