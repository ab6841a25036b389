from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Runs the test as an unprivileged user, because root can write to every directory."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
