"""Makes error messages for failures of user functions. A message names the function, the line and the argument of the call."""

from __future__ import annotations

import traceback
from pathlib import PurePath

from weir.errors import ConfigError, UserCodeError, WeirError

SHOWN_CHARACTERS = 200


def function_name(function: object) -> str:
    """Return the function's qualified name, for example ``parse_line``, ``Parser.parse`` or ``<lambda>``."""
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def user_code_error(where: str, function: object, error: BaseException, argument: str) -> WeirError:
    """Return a UserCodeError whose message describes ``error``. The caller raises the UserCodeError. ``argument`` describes the
    argument of the failed call.

    If ``error`` is a ConfigError, such as a secret that cannot be read, return a ConfigError: a restart cannot help."""
    if isinstance(error, ConfigError):
        return ConfigError(f"{where}: {error}", retry=error.retry)
    line = _line_in(function, error)
    at = f" (line {line})" if line else ""
    return UserCodeError(
        f"{where}: {function_name(function)}{at} raised {type(error).__name__}: {error}; the argument was {argument}"
    )


def short_repr(value: object) -> str:
    """Return the repr of a value, truncated to 200 characters."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001  # __repr__ can be user code
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."


def file_name(path: str) -> str:
    """Return the name of a source file for messages. A kernel of Jupyter compiles each cell as a file with a random number as its
    name, so return ``notebook cell`` for such a file."""
    pure = PurePath(path)
    return "notebook cell" if pure.parent.name.startswith("ipykernel_") else pure.name


def _line_in(function: object, error: BaseException) -> str | None:
    """Return the innermost line of the function's own file in the traceback, for example ``flights.py:3``. Return None if the
    traceback has no line of this file. Lines of library code are skipped, because they do not help the author of the function."""
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    if code is None:
        return None
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == code.co_filename]
    return f"{file_name(lines[-1].filename)}:{lines[-1].lineno}" if lines else None
