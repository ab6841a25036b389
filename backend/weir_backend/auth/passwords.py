"""Passwords as they are kept: Argon2id, with the parameters that argon2-cffi recommends (64 MiB and some 50 ms of a core each)."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from functools import cache
from typing import Annotated

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from fastapi import Depends

AT_ONCE_MAX = 2
_HASHER = PasswordHasher()


async def _turn() -> AsyncIterator[None]:
    yield


HashingTurn = Annotated[None, Depends(_turn, scope="function", max_concurrency=AT_ONCE_MAX)]
"""Of endpoints that hash, as their first parameter: whoever waits has neither a thread nor a connection to the database.

All of them share this one declaration, and so its limit.
"""


def hashed(password: str) -> str:
    return _HASHER.hash(password)


def matches(password: str, kept: str | None) -> bool:
    """Takes as long if there is nothing to compare with: who tries names learns nothing from the time."""
    try:
        return _HASHER.verify(kept or _nobodys(), password) and kept is not None
    except (VerificationError, InvalidHashError):
        return False


def outdated(kept: str) -> bool:
    """It was made with other parameters than today's."""
    return _HASHER.check_needs_rehash(kept)


@cache
def _nobodys() -> str:
    return hashed(secrets.token_urlsafe(32))
