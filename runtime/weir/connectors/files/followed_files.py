"""Directories to which files are added while a job reads them.

A file is read when it is complete: its name does not mark it as unfinished, and its size and modification time have not changed
for a while. Each path is read once. A file that changes later is not read again, because the job has already published its
records.
"""

from __future__ import annotations

import base64
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import xxhash

from weir.connectors.base import Discovered, Source
from weir.connectors.files.file_listing import InputFile, list_files
from weir.errors import InputError
from weir.protocol.snapshots import JsonValue, Split

FORGET_AFTER_DAYS = 7
"""The number of days after which a removed file is forgotten. A file that then appears with the same path is read."""
OLD_MS = 60_000
"""A file that was modified this long ago, at its first listing, counts as unchanged since then. The clocks of the driver and of
the file system can differ, so a more recent modification time is not compared with the clock of the driver."""
NAMED_MAX = 3
"""The maximum number of files that the warnings of one listing name, for each reason."""
_DAY_MS = 86_400_000
_KEY_BYTES, _ENTRY_BYTES = 12, 16
_UNKNOWN = b"\0" * (_ENTRY_BYTES - _KEY_BYTES)
"""The version of a file whose size or modification time is not known."""
_Versions = dict[bytes, bytes]
"""Maps the hash of a path to the hash of the file's size and modification time."""


@dataclass(frozen=True, slots=True)
class Follow:
    """``discover_every_ms``: time between two listings. ``settle_ms``: how long the size and the modification time of a file must
    be unchanged before the file is read."""

    discover_every_ms: int
    settle_ms: int


@dataclass(frozen=True, slots=True)
class KnownFiles:
    """The files for which a source has returned splits, and the files that are possibly still being written.

    ``read``: the files that are in the directory. ``removed``: for each day (since 1970), the files that were missing for the first time
    on that day. ``settling``: for each path, the size, the modification time in ns, the time in ms since which both are unchanged,
    and whether a warning about the file was reported.

    As JSON, a file takes about 21 bytes, whatever the length of its path. So the size is proportional to the number of files that
    are in the directory or were removed in the last week."""

    read: _Versions
    removed: Mapping[str, _Versions]
    settling: Mapping[str, tuple[int, int, int, bool]]

    def to_json(self) -> JsonValue:
        return {
            "read": _encode(self.read),
            "removed": {day: _encode(files) for day, files in self.removed.items()},
            "settling": {path: list(state) for path, state in self.settling.items()},
        }

    @classmethod
    def from_json(cls, value: Any) -> KnownFiles:
        return cls(
            _decode(value["read"]),
            {day: _decode(files) for day, files in value["removed"].items()},
            {path: tuple(state) for path, state in value["settling"].items()},
        )


class FileSource(Source):
    """A source of files. ``follow`` is None if the files are listed once."""

    paths: tuple[str, ...]
    follow: Follow | None

    @abstractmethod
    def _splits_of(self, files: Sequence[InputFile], parallelism: int) -> tuple[Split, ...]: ...

    def _check_complete(self, file: InputFile) -> None:
        """Raise InputError if the end of the file is missing. Called when the file has not changed for the settle time."""

    def splits(self, parallelism: int) -> tuple[Split, ...]:
        return self._splits_of(list_files(self.paths), parallelism)

    @property
    def discover_every_ms(self) -> int | None:
        return None if self.follow is None else self.follow.discover_every_ms

    def known_after(self, splits: Sequence[Split]) -> JsonValue:
        return KnownFiles(dict(map(_version_of, _files_of(splits))), {}, {}).to_json()

    def discover(self, known: JsonValue, parallelism: int) -> Discovered:
        listings = [list_files((path,), following=True) for path in self.paths]
        files, after, warnings = find_new_files(
            sorted({file.path: file for listing in listings for file in listing}.values(), key=lambda file: file.path),
            KnownFiles.from_json(known),
            settle_ms=0 if self.follow is None else self.follow.settle_ms,
            now_ms=time.time_ns() // 1_000_000,
            # If a path has no file, all its files are removed, or its file system is not mounted. In the second case, the source
            # would read all files of the path twice if it forgot them.
            may_forget=all(listings),
            check_complete=self._check_complete,
        )
        return Discovered(self._splits_of(files, parallelism) if files else (), after.to_json(), warnings)


def find_new_files(
    listed: Sequence[InputFile],
    known: KnownFiles,
    *,
    settle_ms: int,
    now_ms: int,
    may_forget: bool,
    check_complete: Callable[[InputFile], None] = lambda file: None,
) -> tuple[list[InputFile], KnownFiles, tuple[str, ...]]:
    """Return the new complete files in ``listed``, what is known after them, and warnings. ``now_ms``: the time since 1970.
    ``may_forget``: whether a file that is not in ``listed`` counts as removed."""
    earlier = {key: version for files in (*known.removed.values(), known.read) for key, version in files.items()}
    read: _Versions = {}
    settling: dict[str, tuple[int, int, int, bool]] = {}
    new: list[InputFile] = []
    changed: list[str] = []
    incomplete: list[str] = []
    for file in listed:
        key, version = _version_of(file)
        if key in earlier:
            read[key] = version
            if earlier[key] not in (version, _UNKNOWN):
                changed.append(file.path)
            continue
        if file.bytes == 0:
            continue  # An empty file has no records. Another process can write to the file later.
        since_ms, warned = _unchanged_since(file, known, now_ms)
        if now_ms - since_ms >= settle_ms:
            try:
                check_complete(file)
            except InputError as error:
                incomplete += [] if warned else [f"{error} The source reads the file when it is complete."]
                warned = True
            else:
                new.append(file)
                read[key] = version
                continue
        settling[file.path] = (file.bytes, file.modified_ns, since_ms, warned)
    if may_forget:
        removed = _removed(known, read, day=now_ms // _DAY_MS)
    else:
        read = known.read | read
        removed = {since: _without(files, read) for since, files in known.removed.items()}
    return new, KnownFiles(read, removed, settling), (*_incomplete_warnings(incomplete), *_changed_warnings(changed))


def _unchanged_since(file: InputFile, known: KnownFiles, now_ms: int) -> tuple[int, bool]:
    """Return the time since which the file is unchanged, and whether a warning about this version of the file was reported."""
    size, modified_ns, since_ms, warned = known.settling.get(file.path, (None, None, now_ms, False))
    if (size, modified_ns) == (file.bytes, file.modified_ns):
        return min(since_ms, now_ms), warned
    modified_ms = file.modified_ns // 1_000_000
    return (modified_ms if size is None and now_ms - modified_ms >= OLD_MS else now_ms), False


def _removed(known: KnownFiles, read: _Versions, *, day: int) -> dict[str, _Versions]:
    """Return the files that are missing in the directory, except those that have been missing for more than FORGET_AFTER_DAYS."""
    missing = {str(day): _without(known.read, read)}
    for since, files in known.removed.items():
        if int(since) >= day - FORGET_AFTER_DAYS:
            missing[since] = missing.get(since, {}) | _without(files, read)
    return {since: files for since, files in missing.items() if files}


def _without(files: _Versions, others: _Versions) -> _Versions:
    return {key: version for key, version in files.items() if key not in others}


def _incomplete_warnings(texts: Sequence[str]) -> tuple[str, ...]:
    more = len(texts) - NAMED_MAX
    return (*texts[:NAMED_MAX], f"{more:,} more input files are not complete.") if more > 0 else tuple(texts)


def _changed_warnings(paths: Sequence[str]) -> tuple[str, ...]:
    if not paths:
        return ()
    more = f" and {len(paths) - NAMED_MAX:,} more" if len(paths) > NAMED_MAX else ""
    named = f"{', '.join(paths[:NAMED_MAX])}{more}"
    advice = "The source reads each path once, so it does not read the new content. Write new records to new files."
    return (f"Input files have changed after the source listed them: {named}. {advice}",)


def _files_of(splits: Iterable[Split]) -> Iterable[InputFile]:
    """Return the files in the payloads of splits. A size or modification time of -1 is unknown."""
    for split in splits:
        payload: Any = split.payload
        listed = payload["files"] if "files" in payload else [[payload["file"], payload.get("size"), payload.get("modified_ns")]]
        for path, size, modified_ns, *_ in listed:
            yield InputFile(path, -1 if size is None else size, -1 if modified_ns is None else modified_ns)


def _version_of(file: InputFile) -> tuple[bytes, bytes]:
    """Return the key and the version of a file. With 96 bits, even billions of paths have different keys."""
    key = xxhash.xxh3_128_digest(file.path.encode())[:_KEY_BYTES]
    if file.bytes < 0 or file.modified_ns < 0:
        return key, _UNKNOWN
    return key, xxhash.xxh3_128_digest(f"{file.bytes} {file.modified_ns}".encode())[: len(_UNKNOWN)]


def _encode(files: _Versions) -> str:
    return base64.b64encode(b"".join(key + version for key, version in files.items())).decode()


def _decode(text: str) -> _Versions:
    data = base64.b64decode(text)
    return {
        data[at : at + _KEY_BYTES]: data[at + _KEY_BYTES : at + _ENTRY_BYTES] for at in range(0, len(data), _ENTRY_BYTES)
    }  # fmt: skip
