"""Which version of the command is calling: it is in the platform's log."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def user_agent() -> str:
    try:
        return f"weir/{version('weir')}"
    except PackageNotFoundError:
        return "weir"
