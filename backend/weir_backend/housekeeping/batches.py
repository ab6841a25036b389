"""The result of one batch of a cleanup."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Batch:
    """``deleted`` is the number of deleted rows. ``more`` is True if the next batch may find further rows."""

    deleted: int
    more: bool
