"""Durations as text."""

from __future__ import annotations

from datetime import timedelta


def format_duration(span: timedelta) -> str:
    """Return the duration in its two largest units, or in seconds if it is shorter than two minutes."""
    seconds = int(span.total_seconds())
    if seconds < 120:
        return f"{seconds} s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if hours < 1:
        return f"{minutes} min"
    if days < 1:
        return f"{hours} h {minutes % 60} min" if minutes % 60 else f"{hours} h"
    return f"{days} d {hours % 24} h" if hours % 24 else f"{days} d"
