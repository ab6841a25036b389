"""Password hashes: Argon2id with the parameters that argon2-cffi recommends. One hash takes 64 MiB and about 50 ms of a core."""

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


async def _slot() -> AsyncIterator[None]:
    yield


HashingTurn = Annotated[None, Depends(_slot, scope="function", max_concurrency=AT_ONCE_MAX)]
"""The type of the first parameter of each endpoint that hashes passwords. The parameter limits concurrent hashing; a waiting
request occupies neither a thread nor a database connection. All endpoints with this parameter share one limit, because they declare
the same dependency."""


def hashed(password: str) -> str:
    return _HASHER.hash(password)


def matches(password: str, password_hash: str | None) -> bool:
    """Compare a password with its hash. If the hash is None, the comparison takes as long as with a hash, so that timing does not reveal which users
    exist."""
    try:
        return _HASHER.verify(password_hash or _dummy_hash(), password) and password_hash is not None
    except (VerificationError, InvalidHashError):
        return False


def is_outdated(password_hash: str) -> bool:
    """Return whether the hash was computed with parameters that differ from the current parameters."""
    return _HASHER.check_needs_rehash(password_hash)


@cache
def _dummy_hash() -> str:
    return hashed(secrets.token_urlsafe(32))
