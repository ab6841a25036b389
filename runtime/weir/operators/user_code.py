"""Error messages for failures of user functions: which function and line failed, and with which argument."""

from __future__ import annotations

import traceback
from pathlib import PurePath

from weir.errors import UserCodeError

SHOWN_CHARACTERS = 200


def function_name(function: object) -> str:
    """Return for example ``parse_line``, ``Parser.__call__`` or ``<lambda>``."""
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def user_code_error(where: str, function: object, error: BaseException, argument: str) -> UserCodeError:
    """Make the error to raise ``from error``. ``argument``: a short description of the function's argument."""
    line = _line_in(function, error)
    at = f" (line {line})" if line else ""
    return UserCodeError(
        f"{where}: {function_name(function)}{at} raised {type(error).__name__}: {error}; the argument was {argument}"
    )


def short_repr(value: object) -> str:
    """Return a repr, truncated to fit into a message."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001  # the repr is the author's code, too
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."


def _line_in(function: object, error: BaseException) -> str | None:
    """Return the innermost frame in the function's own file: frames of libraries do not help the author."""
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    if code is None:
        return None
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == code.co_filename]
    return f"{PurePath(lines[-1].filename).name}:{lines[-1].lineno}" if lines else None
