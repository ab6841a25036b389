"""Arithmetic as a 64-bit register does it."""

from __future__ import annotations


def wrapped(value: int) -> int:
    """``value`` modulo 2**64, as a signed word."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
