"""Password hashes: Argon2id with the parameters that argon2-cffi recommends (64 MiB and about 50 ms of a core each)."""

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
"""The first parameter of endpoints that hash passwords. It limits concurrent hashing; a waiting request occupies neither a thread nor a database
connection. All these endpoints share the limit, because they share this declaration."""


def hashed(password: str) -> str:
    return _HASHER.hash(password)


def matches(password: str, password_hash: str | None) -> bool:
    """Compare a password with its hash. Without a hash it takes equally long, so that timing does not reveal which users exist."""
    try:
        return _HASHER.verify(password_hash or _dummy_hash(), password) and password_hash is not None
    except (VerificationError, InvalidHashError):
        return False


def is_outdated(password_hash: str) -> bool:
    """Whether the hash uses other parameters than the current ones."""
    return _HASHER.check_needs_rehash(password_hash)


@cache
def _dummy_hash() -> str:
    return hashed(secrets.token_urlsafe(32))
