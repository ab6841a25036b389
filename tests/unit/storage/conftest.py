from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.s3_server import s3_server
from tests.unit.storage.storage_builders import S3_OPTIONS

from weir.storage.base import CheckpointStorage
from weir.storage.local import LocalStorage
from weir.storage.memory import MemoryStorage
from weir.storage.object_store import ObjectStorage


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """A local S3 server with a bucket named ``bucket``."""
    with s3_server("bucket") as endpoint:
        yield endpoint


@pytest.fixture(params=["memory", "local", "s3"])
def open_again(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], CheckpointStorage]:
    """A function that opens a storage. Each call opens the same storage again, like a new process of a job."""
    kind: str = request.param
    if kind == "local":
        return lambda: LocalStorage(tmp_path / "checkpoints")
    if kind == "s3":
        endpoint = request.getfixturevalue("s3_endpoint")
        return lambda: ObjectStorage(f"s3://bucket/{tmp_path.name}", {**S3_OPTIONS, "endpoint": endpoint})
    shared = MemoryStorage()
    return lambda: shared


@pytest.fixture
def storage(open_again: Callable[[], CheckpointStorage]) -> CheckpointStorage:
    return open_again()
