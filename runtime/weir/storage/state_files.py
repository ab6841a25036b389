"""State files. A subtask writes state files in each checkpoint attempt, and reads them when its state is restored."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Self, cast

import pyarrow as pa
import xxhash

from weir.errors import CheckpointError, ObjectNotFound
from weir.protocol.ids import CheckpointId, Generation, OperatorUid, SubtaskId
from weir.protocol.snapshots import StateFile
from weir.storage.base import CheckpointStorage, checksum, checksum_text
from weir.storage.layout import JobLayout, is_pack, pack_path, state_path

PART_BYTES_MAX = 8 << 20
"""Maximum size of one read of a separate object. A whole state file can be larger than memory."""
PARTS_AHEAD = 12
"""Maximum number of parts that a restore requests in advance."""
FETCH_THREADS = 4
"""Maximum number of parts that a restore fetches at the same time. A single request to an object store uses only a small part of
the network's bandwidth."""
PACKED_BYTES_MAX = 4 << 20
"""A file larger than this becomes a separate object. Smaller files share objects of up to about this size, because creating an
object (two fsyncs, or a request to a store) costs more than writing its bytes."""
ALIGNMENT = 64
"""The offset of each file in a pack is a multiple of this, as Arrow recommends for its buffers."""


_numbers = itertools.count()
"""A counter that makes the object names of this process unique. A slot can write its part of a checkpoint in several steps, and
each step creates new objects."""


class StateFiles:
    """Writes the state files of one slot for one checkpoint attempt, or for a part of the attempt.

    ``numbers`` yields the numbers in the names of the objects. Instances with the same ``numbers`` never write to the same
    object. By default, all instances in a process have the same ``numbers``. ``attempt`` distinguishes the files from those of
    any other process, including a zombie. Only one thread may use an instance.
    """

    def __init__(
        self,
        storage: CheckpointStorage,
        layout: JobLayout,
        *,
        generation: Generation,
        checkpoint: CheckpointId,
        attempt: str,
        numbers: Iterator[int] = _numbers,
    ) -> None:
        self._storage = storage
        self._layout = layout
        self._generation = generation
        self._checkpoint = checkpoint
        self._attempt = attempt
        self._numbers = numbers
        self._pack: _Pack | None = None
        self._failure: Exception | None = None
        """The error that prevented storing an object, if any.

        Later calls raise this error again, because the subtasks whose files are in the object have already continued.
        """

    def writer(self, subtask: SubtaskId) -> StateWriter:
        return StateWriter(self, subtask)

    def put(self, data: Sequence[memoryview], *, operator: OperatorUid, subtask: int) -> tuple[str, int]:
        """Add a file. Return the file's path and offset. Raise StorageError (StorageFull if the storage is full)."""
        size = sum(part.nbytes for part in data)
        if size > PACKED_BYTES_MAX:
            path = state_path(
                operator, generation=self._generation, checkpoint=self._checkpoint, subtask=subtask, attempt=self._next_attempt()
            )
            self._storage.put(self._layout.absolute(path), data)
            return path, 0
        if self._pack is not None and self._pack.bytes + size > PACKED_BYTES_MAX:
            self.flush()
        if self._pack is None:
            path = pack_path(generation=self._generation, checkpoint=self._checkpoint, attempt=self._next_attempt())
            self._pack = _Pack(path, [])
        return self._pack.path, self._pack.add(data, size)

    def flush(self) -> None:
        """Store all files added so far, so that they are durable on return. If storing fails, raise StorageError, and raise the
        same error on every later call."""
        if self._failure is not None:
            raise self._failure
        pack, self._pack = self._pack, None
        if pack is None:
            return
        try:
            self._storage.put(self._layout.absolute(pack.path), pack.parts)
        except Exception as error:
            self._failure = error
            raise

    def _next_attempt(self) -> str:
        return f"{self._attempt}.{next(self._numbers)}"


@dataclass(slots=True)
class _Pack:
    path: str
    parts: list[memoryview]
    bytes: int = 0

    def add(self, data: Sequence[memoryview], size: int) -> int:
        """Add a file and return its offset."""
        gap = -self.bytes % ALIGNMENT
        if gap:
            self.parts.append(memoryview(bytes(gap)))
        offset = self.bytes + gap
        self.parts.extend(data)
        self.bytes = offset + size
        return offset


class StateWriter:
    """The SnapshotWriter of one subtask."""

    def __init__(self, files: StateFiles, subtask: SubtaskId) -> None:
        self._files = files
        self._subtask = subtask

    def put(
        self,
        operator: OperatorUid,
        data: Sequence[memoryview | bytes | pa.Buffer],
        *,
        rows: int,
        key_groups: tuple[int, int] | None,
    ) -> StateFile:
        parts = [memoryview(part).cast("B") for part in data]
        path, offset = self._files.put(parts, operator=operator, subtask=self._subtask.index)
        return StateFile(path, sum(part.nbytes for part in parts), checksum(parts), rows, key_groups, offset)


class RestoreCancelled(Exception):
    """The restore was cancelled, so its result is not needed."""


@dataclass(slots=True)
class RestoreProgress:
    """The progress of a restore, in bytes of state files. The thread that reads the state files calls ``advance``. The loop
    reads the progress, and sets ``cancelled`` to cancel the restore."""

    total_bytes: int
    restored_bytes: int = 0
    cancelled: bool = False

    def advance(self, count: int) -> None:
        """Add ``count`` restored bytes. Raise RestoreCancelled if the restore is cancelled."""
        if self.cancelled:
            raise RestoreCancelled
        self.restored_bytes += count


class StateReader:
    """Reads the state files of one checkpoint, and verifies their checksums. Each file is read from its start to its end.

    While the caller reads a file, other threads fetch the next parts of this file and of the following files. ``files`` lists the
    files in the order in which the caller opens them. The caller may skip files. Call ``open`` inside ``with reader``, from one
    thread.
    """

    def __init__(
        self,
        storage: CheckpointStorage,
        layout: JobLayout,
        checkpoint: CheckpointId,
        files: Iterable[StateFile] = (),
        progress: RestoreProgress | None = None,
    ) -> None:
        self._storage = storage
        self._layout = layout
        self._checkpoint = checkpoint
        self._progress = progress or RestoreProgress(0)
        self._pool = ThreadPoolExecutor(FETCH_THREADS, "weir-restore")
        self._unplanned = deque(files)
        self._planned: deque[_Fetch] = deque()
        self._parts_ahead = 0
        self._pack: tuple[str, Future[memoryview]] | None = None
        """The path and the content of the newest requested pack. The next file is usually in the same pack."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Cancel the requests that have not started, and wait for the running requests."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    @contextlib.contextmanager
    def open(self, file: StateFile) -> Iterator[IO[bytes]]:
        """Return the content of the file as a stream. At the end of the ``with`` block, verify the checksum of the whole file.

        Raise CheckpointError if the file is missing or damaged. The CheckpointError replaces any error that the ``with`` block
        has raised, because damaged data can cause such an error. Raise RestoreCancelled if the restore is cancelled.
        """
        stream = _Stream(file.bytes, self._parts(file), self._progress)
        try:
            yield cast("IO[bytes]", stream)
        except RestoreCancelled:
            raise
        except Exception as error:
            if problem := _problem(file, stream):
                raise self._damaged(file, problem) from error
            raise
        if problem := _problem(file, stream):
            raise self._damaged(file, problem)

    def _damaged(self, file: StateFile, problem: str) -> CheckpointError:
        return CheckpointError(
            f"Cannot restore checkpoint {self._checkpoint}: {self._storage.url}/{self._layout.absolute(file.path)} {problem}. "
            "Restore the file from a backup, or restore another checkpoint with --from."
        )

    def _parts(self, file: StateFile) -> Iterator[memoryview]:
        fetch = self._take_planned(file) or _Fetch.of(file)
        while True:
            self._request_ahead(fetch)
            if not fetch.requests:
                return
            part = fetch.requests.popleft()
            self._parts_ahead -= 1
            yield part.result() if not is_pack(file.path) else _part_of_pack(file, part.result())

    def _take_planned(self, file: StateFile) -> _Fetch | None:
        """Remove the file and all earlier files from the plan. Return the ``_Fetch`` of the file, or None if the plan does
        not contain the file."""
        while self._planned or self._unplanned:
            fetch = self._planned.popleft() if self._planned else _Fetch.of(self._unplanned.popleft())
            if fetch.file == file:
                return fetch
            self._parts_ahead -= len(fetch.requests)
        return None

    def _request_ahead(self, current: _Fetch) -> None:
        """Request the next parts of the current file, and then parts of the following files."""
        self._request(current)
        for fetch in self._planned:
            self._request(fetch)
        while self._parts_ahead < PARTS_AHEAD and self._unplanned:
            self._planned.append(_Fetch.of(self._unplanned.popleft()))
            self._request(self._planned[-1])

    def _request(self, fetch: _Fetch) -> None:
        while fetch.unrequested and self._parts_ahead < PARTS_AHEAD:
            offset, count = fetch.unrequested.popleft()
            self._parts_ahead += 1
            if is_pack(fetch.file.path):
                fetch.requests.append(self._request_pack(fetch.file.path))
            else:
                fetch.requests.append(self._pool.submit(self._fetch_part, fetch.file, offset, count))

    def _request_pack(self, path: str) -> Future[memoryview]:
        if self._pack is None or self._pack[0] != path:
            self._pack = path, self._pool.submit(self._storage.get, self._layout.absolute(path))
        return self._pack[1]

    def _fetch_part(self, file: StateFile, offset: int, count: int) -> memoryview:
        path = self._layout.absolute(file.path)
        if offset == 0 and (problem := _wrong_size(file, self._storage.size(path))):
            raise _WrongSize(problem)
        return self._storage.get_range(path, offset=offset, bytes=count) if count else memoryview(b"")


@dataclass(slots=True)
class _Fetch:
    """The parts of a file that have not been read yet. ``requests`` contains the requested parts. ``unrequested`` contains the
    offset and the size, in bytes, of each part that is not requested yet. A file in a pack is one part."""

    file: StateFile
    unrequested: deque[tuple[int, int]]
    requests: deque[Future[memoryview]] = field(default_factory=deque)

    @classmethod
    def of(cls, file: StateFile) -> _Fetch:
        step = max(file.bytes, 1) if is_pack(file.path) else PART_BYTES_MAX
        return cls(file, deque((at, min(step, file.bytes - at)) for at in range(0, max(file.bytes, 1), step)))


class _WrongSize(Exception):
    """The stored object is too short or too long. The message is a predicate, such as "has 3 bytes, but 5 were written"."""


def _part_of_pack(file: StateFile, pack: memoryview) -> memoryview:
    if problem := _wrong_size(file, pack.nbytes):
        raise _WrongSize(problem)
    return pack[file.offset : file.offset + file.bytes]


class _Stream(io.RawIOBase):
    """A state file as a stream. If the request for a part fails, ``read`` and ``next_part`` raise the error of this request.
    Later calls raise the same error."""

    def __init__(self, bytes_left: int, parts: Iterator[memoryview], progress: RestoreProgress) -> None:
        self._bytes_left = bytes_left
        self._parts = parts
        self._progress = progress
        self._digest = xxhash.xxh3_128()
        self._part = memoryview(b"")
        self._failure: Exception | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> memoryview:
        """Return the next ``size`` bytes, or fewer at the end of the file. If ``size`` is negative, return the rest of the file.

        The result is a view if one part contains all returned bytes, and a copy if not.
        """
        if not self._part.nbytes:
            self.next_part()
        if size < 0:
            return memoryview(b"".join(self._rest()))
        if size <= self._part.nbytes:
            data, self._part = self._part[:size], self._part[size:]
            return data
        # Limit the size, because damaged data can contain a wrong size. Allocate from Arrow's memory pool, because the pool
        # reuses freed pages. Allocating new pages would take longer than copying the data.
        size = min(size, self._part.nbytes + self._bytes_left)
        data, filled = memoryview(pa.allocate_buffer(size)).cast("B"), 0
        while filled < size and (self._part.nbytes or self.next_part()):
            view = self._part[: size - filled]
            data[filled : filled + view.nbytes] = view
            filled += view.nbytes
            self._part = self._part[view.nbytes :]
        return data[:filled]

    def _rest(self) -> Iterator[memoryview]:
        while self._part.nbytes:
            yield self._part
            self.next_part()

    def next_part(self) -> bool:
        """Continue with the next part. Return False at the end of the file."""
        if self._failure is not None:
            raise self._failure
        try:
            self._part = next(self._parts, memoryview(b""))
        except Exception as error:
            self._failure = error
            raise
        self._bytes_left -= self._part.nbytes
        self._progress.advance(self._part.nbytes)
        self._digest.update(self._part)
        return self._part.nbytes > 0

    def checksum(self) -> str:
        """Return the checksum of all parts that have been read."""
        return checksum_text(self._digest)


def _problem(file: StateFile, stream: _Stream) -> str:
    """Read the rest of the file, and return its problem as a predicate, such as "is missing". Return "" if the file is intact."""
    try:
        while stream.next_part():
            pass
    except ObjectNotFound:
        return "is missing"
    except _WrongSize as error:
        return str(error)
    return _wrong_checksum(file, stream.checksum())


class StateFileChecker:
    """Reads state files and compares them with their checksums. Only one thread may use an instance."""

    def __init__(self, storage: CheckpointStorage, layout: JobLayout) -> None:
        self._storage = storage
        self._layout = layout
        self._last: tuple[str, memoryview] | None = None
        """The last pack that was read. The next file is usually in the same pack."""

    def url_of(self, file: StateFile) -> str:
        return f"{self._storage.url}/{self._layout.absolute(file.path)}"

    def check(self, file: StateFile) -> tuple[memoryview | None, str]:
        """Return (the file's bytes, ""), or (None, the problem). The problem is a predicate, such as "is missing"."""
        try:
            stored = self._object(file.path)
        except ObjectNotFound:
            return None, "is missing"
        data = stored[file.offset : file.offset + file.bytes]
        problem = _wrong_size(file, stored.nbytes) or _wrong_checksum(file, checksum((data,)))
        return (None if problem else data), problem

    def verify(self, file: StateFile) -> str:
        """Return the problem of the file as a predicate, such as "is missing". Return "" if the file is intact. A file of any
        size needs little memory."""
        if is_pack(file.path):
            return self.check(file)[1]
        path = self._layout.absolute(file.path)
        parts = (
            self._storage.get_range(path, offset=offset, bytes=min(PART_BYTES_MAX, file.bytes - offset))
            for offset in range(0, file.bytes, PART_BYTES_MAX)
        )
        try:
            return _wrong_size(file, self._storage.size(path)) or _wrong_checksum(file, checksum(parts))
        except ObjectNotFound:
            return "is missing"

    def _object(self, path: str) -> memoryview:
        if self._last is not None and self._last[0] == path:
            return self._last[1]
        self._last = None
        data = self._storage.get(self._layout.absolute(path))
        if is_pack(path):
            self._last = (path, data)
        return data


def _wrong_size(file: StateFile, stored_bytes: int) -> str:
    """``stored_bytes``: the size of the object that contains the file."""
    end, packed = file.offset + file.bytes, is_pack(file.path)
    if stored_bytes >= end if packed else stored_bytes == end:
        return ""
    return f"has {stored_bytes} bytes, but {'at least ' if packed else ''}{end} were written"


def _wrong_checksum(file: StateFile, actual: str) -> str:
    if actual == file.checksum:
        return ""
    where = f" at byte {file.offset}" if is_pack(file.path) else ""
    return f"is damaged{where}: its checksum is {actual}, but {file.checksum} was written"
