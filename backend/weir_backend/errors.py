"""Errors of the API, which are returned as application/problem+json (RFC 9457).

Problem
├── Unauthenticated      401
├── Forbidden            403
├── NotFound             404
├── Conflict             409
├── Gone                 410
├── PreconditionFailed   412
├── TooLarge             413
├── Invalid              422
├── PreconditionRequired 428
├── TooMany              429
└── Unavailable          503
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")


class Problem(Exception):
    """``code`` is an identifier for programs. ``detail`` says what failed and where, and ``next_step`` says what the user can do. Both are
    sentences.

    ``extra`` contains additional members of the error response. The fields of a problem must not contain secrets.
    """

    status: ClassVar[int] = 500

    def __init__(self, code: str, detail: str, next_step: str = "", **extra: Any) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.next_step = next_step
        self.extra = extra

    @property
    def headers(self) -> Mapping[str, str]:
        return {}


class Unauthenticated(Problem):
    status = 401

    @property
    def headers(self) -> Mapping[str, str]:
        return {"WWW-Authenticate": "Bearer"}


class Forbidden(Problem):
    status = 403


class NotFound(Problem):
    status = 404


class Conflict(Problem):
    status = 409


class Gone(Problem):
    status = 410


class PreconditionFailed(Problem):
    status = 412


class TooLarge(Problem):
    status = 413


class Invalid(Problem):
    status = 422


class PreconditionRequired(Problem):
    status = 428


class TooMany(Problem):
    status = 429

    def __init__(self, code: str, detail: str, *, retry_after_s: int) -> None:
        super().__init__(code, detail, f"Retry in {retry_after_s} s.")
        self._retry_after_s = retry_after_s

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(self._retry_after_s)}


class Unavailable(Problem):
    status = 503

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": "2"}


def or_raise(found: T | None, problem: Problem) -> T:
    """Return ``found``. Raises ``problem`` if ``found`` is None."""
    if found is None:
        raise problem
    return found
