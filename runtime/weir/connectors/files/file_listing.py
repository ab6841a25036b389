"""Lists the input files of a source. Inputs are files, directories and globs."""

from __future__ import annotations

import errno
import glob
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from weir.connectors.files.output_layout import parse_epoch_name
from weir.connectors.transient_errors import retry_policy
from weir.errors import ConfigError, InputError
from weir.graph.schema import near_miss

AT_ONCE = 256
"""The number of items that a thread of ``in_parallel`` processes before it returns the results. ``in_parallel`` starts threads
only for more than AT_ONCE items."""
THREADS = 8
UNFINISHED_SUFFIXES = (".tmp", ".temp", ".part", ".partial", ".filepart", ".crdownload", ".download", ".inprogress", ".swp")
"""The suffixes that programs give to files while they write or download them."""
PROGRESS_S = 2.0
"""The minimum time between two log messages about the progress, in seconds."""
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class InputFile:
    path: str
    bytes: int
    modified_ns: int
    """Modification time, in nanoseconds since 1970."""


def local_paths(path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Return absolute paths, because slots can run in another directory. Raises ConfigError for a remote path or an empty
    list of paths."""
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not paths:
        raise ConfigError("A file source needs at least one path: a file, a directory or a glob.")
    return tuple(local_path(each) for each in paths)


def local_path(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if text.startswith("file:"):
        text = "/" + text.removeprefix("file:").lstrip("/")
    if "://" in text:
        raise ConfigError(
            f"{text}: not a local path. Mount the storage, or read the data through a Spark DataFrame with sources.dataframe."
        )
    return os.path.abspath(os.path.expanduser(text))


def list_files(paths: Sequence[str], *, following: bool = False) -> tuple[InputFile, ...]:
    """Return all input files, sorted and without duplicates. Inside a directory, files and subdirectories whose
    names begin with ``_`` or ``.`` are skipped.

    With ``following``, other processes add and remove files during the listing. Files with UNFINISHED_SUFFIXES, and files that are
    removed before their size is read, are then skipped. Globs and directories can match no files.

    Raises InputError if a path matches no file or cannot be listed. Also raises InputError for a file whose size is unknown or
    whose name is not UTF-8."""
    files: dict[str, InputFile] = {}
    for path in paths:
        try:
            matches = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
            found = [file for match in matches for file in (_walk(match) if os.path.isdir(match) else [match])]
            if following:
                found = [file for file in found if file == path or _has_final_name(file)]
            statuses = in_parallel(partial(_input_file, may_vanish=following), found, doing="listing the input")
            files.update((file.path, file) for file in statuses if file is not None)
            if not found and not (following and (matches or glob.has_magic(path))):
                raise InputError(f"{path}: no input file found. {_why_no_file(path, matches)}")
        except PermissionError as error:
            raise InputError(
                f"{path}: cannot list the input: Permission denied. Make {error.filename or path} readable for user id {os.geteuid()}."
            ) from error
        except OSError as error:
            raise InputError(
                f"{error.filename or path}: cannot list the input: {error.strerror}.", retry=retry_policy(error)
            ) from error
    return tuple(files[path] for path in sorted(files))


def in_parallel(call: Callable[[_Item], _Result], items: Sequence[_Item], *, doing: str) -> list[_Result]:
    """Call ``call`` for each item, and return the results in order. For many items, call ``call`` in several threads, because
    each call waits for the disk or the network. If the calls take a long time, log the progress. ``doing`` is the text of the log
    message. Raises the first error of ``call``."""
    if len(items) <= AT_ONCE:
        return [call(item) for item in items]
    results: list[_Result] = []
    logged_at = time.monotonic()
    with ThreadPoolExecutor(THREADS, "weir-list") as executor:
        parts = [items[first : first + AT_ONCE] for first in range(0, len(items), AT_ONCE)]
        for part in executor.map(lambda part: [call(item) for item in part], parts):
            results += part
            if time.monotonic() - logged_at >= PROGRESS_S:
                logged_at = time.monotonic()
                log.info(doing, files=f"{len(results):,} of {len(items):,}")
    return results


def max_split_bytes(files: Sequence[InputFile], *, split_bytes: int, parallelism: int, order: str) -> int:
    """Return the maximum size of a split. The maximum is ``split_bytes`` or a subtask's fair share of the input, whichever is smaller.
    A fair share of less than 1 MiB counts as 1 MiB. If ``order`` is ``file``, a file is never divided, because different
    subtasks could read the parts of the file in any order."""
    if order == "file":
        return sys.maxsize
    share = max(1 << 20, sum(file.bytes for file in files) // max(parallelism, 1) + 1)
    return min(split_bytes, share)


def _why_no_file(path: str, matches: Sequence[str]) -> str:
    """Return why ``path`` matches no input file, with advice for the user. ``matches``: the directories that ``path`` matches.
    Raises PermissionError if a directory in ``path`` cannot be read. ``os.path.exists`` and ``glob`` do not distinguish an
    unreadable directory from a missing file."""
    if matches:
        if any(names for match in matches for _, _, names in os.walk(match)):
            return "All files are skipped, because file or directory names begin with _ or a dot. Rename the files, or correct the path."
        return "The directory contains no files. Write the input first, or correct the path."
    parts = Path(path).parts
    for count in range(1, len(parts)):
        above = os.path.join(*parts[:count])
        needed = os.R_OK | os.X_OK if glob.has_magic(parts[count]) else os.X_OK
        for directory in [above] if os.path.isdir(above) else glob.glob(above, recursive=True):
            if os.path.isdir(directory) and not os.access(directory, needed, effective_ids=True):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), directory)
    if glob.has_magic(path):
        return "No file matches this pattern. Correct the pattern."
    nearest, missing = os.path.split(path)
    while not os.path.exists(nearest):
        nearest, missing = os.path.split(nearest)
    if not os.path.isdir(nearest):
        return f"Correct the path: {nearest} is a file, not a directory."
    names = sorted(os.listdir(nearest)) if os.access(nearest, os.R_OK, effective_ids=True) else []
    advice = f"Correct the path: {nearest} has no {missing!r}{near_miss(missing, names)}"
    return advice if advice.endswith("?") else f"{advice}."


def _has_final_name(path: str) -> bool:
    name = os.path.basename(path)
    return not name.startswith(("_", ".")) and not name.lower().endswith(UNFINISHED_SUFFIXES)


def _input_file(path: str, *, may_vanish: bool) -> InputFile | None:
    """Return a regular file with its size and modification time, or None if ``may_vanish`` and the file does not exist. Raises
    InputError for pipes and devices, which report a size of 0 and would have no splits."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        shown = os.fsencode(path).decode(errors="backslashreplace")
        raise InputError(f"{shown}: the file name is not UTF-8, so a checkpoint cannot contain it. Rename the file.") from error
    try:
        status = os.stat(path)
    except FileNotFoundError:
        if may_vanish:
            return None
        raise
    if not stat.S_ISREG(status.st_mode) or (status.st_size == 0 and _yields_data(path)):
        raise InputError(f"{path}: not a regular file (a pipe or a device?). Copy the data to a file and read that file.")
    return InputFile(path, status.st_size, status.st_mtime_ns)


def _yields_data(path: str) -> bool:
    """Return whether a file that reports a size of 0 contains data. Files that the operating system generates on read, as in /proc,
    report a size of 0."""
    with open(path, "rb", buffering=0) as file:
        return bool(file.read(1))


def _walk(directory: str) -> list[str]:
    def fail(error: OSError) -> None:
        raise error

    files: list[str] = []
    for folder, subfolders, names in os.walk(directory, onerror=fail):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith(("_", ".")))
        # Accept the directories ``weir_checkpoint=<id>`` in the output of another Weir job, because the checkpoint id is not a
        # column of the data.
        partitions = [name for name in subfolders if "=" in name and parse_epoch_name(name) is None]
        if partitions:
            raise InputError(
                f"{Path(folder, partitions[0])}: cannot read the columns of partition directories. "
                "Read this data through a Spark DataFrame with sources.dataframe."
            )
        files += [os.path.join(folder, name) for name in names if not name.startswith(("_", "."))]
    return files
