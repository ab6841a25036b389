"""Calling what the author wrote, and saying what went wrong in it so that the line is found at once."""

from __future__ import annotations

import traceback
from pathlib import PurePath

from weir.errors import UserCodeError

SHOWN_CHARACTERS = 200


def function_name(function: object) -> str:
    """``parse_line``, ``Parser.__call__`` or ``<lambda>``."""
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def raised(where: str, function: object, error: BaseException, subject: str) -> UserCodeError:
    """To be raised ``from error``. ``subject``: what the function was given, already shortened."""
    line = _line_in(function, error)
    at = f" (line {line})" if line else ""
    return UserCodeError(f"{where}: {function_name(function)}{at} raised {type(error).__name__}: {error}; it was given {subject}")


def short(value: object) -> str:
    """A repr that fits into one message."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001  # the repr is the author's code, too
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."


def _line_in(function: object, error: BaseException) -> str | None:
    """The innermost frame in the function's own file: a library's depths say little about the author's line."""
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    if code is None:
        return None
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == code.co_filename]
    return f"{PurePath(lines[-1].filename).name}:{lines[-1].lineno}" if lines else None
