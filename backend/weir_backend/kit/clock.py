"""The only module in which the control plane reads the clock."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)


def from_ms(milliseconds: int) -> datetime:
    """Convert a time of a driver. The time is clamped to a range that Postgres can store, because a driver's clock can be wrong."""
    return datetime.fromtimestamp(min(max(milliseconds, 0), _MS_MAX) / 1000, UTC)


_MS_MAX = 4_102_444_800_000  # the year 2100
