"""Arithmetic of 64-bit signed integers."""

from __future__ import annotations


def wrap_int64(value: int) -> int:
    """Return ``value`` modulo 2**64, as a signed 64-bit integer."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
