from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import IO

import pyarrow as pa
import pytest

from weir.protocol.ids import OperatorUid
from weir.protocol.snapshots import StateFile


class MemoryFiles:
    """Stores state files in memory."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def put(self, operator: OperatorUid, data: Sequence[memoryview | bytes | pa.Buffer], *, rows: int,
            key_groups: tuple[int, int] | None) -> StateFile:  # fmt: skip
        content = b"".join(bytes(memoryview(part)) for part in data)
        path = f"{operator}-{len(self.files)}"
        self.files[path] = content
        return StateFile(path, len(content), "xxh3:0", rows, key_groups)

    def read(self, file: StateFile) -> pa.Buffer:
        return pa.py_buffer(self.files[file.path])

    @contextmanager
    def open(self, file: StateFile) -> Iterator[IO[bytes]]:
        yield BytesIO(self.files[file.path])


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles()
