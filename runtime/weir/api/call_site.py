"""Adds the line of the author's code to error messages, for example ``map at flights.py:12``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weir.errors import WeirError
from weir.operators.user_code import file_name

_PACKAGE = str(Path(__file__).resolve().parents[1]) + "/"


def call_site() -> str | None:
    """Return the line of the innermost caller outside the weir package as ``file.py:line``. Return None if all callers are inside
    the package."""
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not filename.startswith(_PACKAGE) and "contextlib" not in filename:
            return f"{file_name(filename)}:{frame.f_lineno}"
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None


@contextmanager
def error_context(where: str) -> Iterator[None]:
    """Put ``where`` before the message of a WeirError that the ``with`` block raises. The error keeps its class."""
    try:
        yield
    except WeirError as error:
        raise type(error)(f"{where}: {error}") from error
