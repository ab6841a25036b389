"""Which files a path, directory or glob stands for."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from weir.connectors.transient import retry_after
from weir.errors import ConfigError, InputError


@dataclass(frozen=True, slots=True)
class InputFile:
    path: str
    bytes: int


def local_paths(path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Absolute local paths (slots may run in another directory). Raises ConfigError for other file systems or none at all."""
    given = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not given:
        raise ConfigError("a file source was given no path: name at least one file, directory or glob")
    return tuple(local_path(one) for one in given)


def local_path(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if text.startswith("file:"):
        text = "/" + text.removeprefix("file:").lstrip("/")
    if "://" in text:
        raise ConfigError(f"{text}: only local (or mounted) paths can be used here; read other stores through a Spark DataFrame")
    return os.path.abspath(os.path.expanduser(text))


def list_files(paths: Sequence[str]) -> tuple[InputFile, ...]:
    """All files, sorted and without doubles. Directories are walked; names that begin with ``_`` or ``.`` in them are not data.

    Raises InputError if a path matches nothing, cannot be looked at, or is no file with a size and a name in UTF-8."""
    found: dict[str, int] = {}
    for path in paths:
        try:
            matches = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
            files = [file for match in matches for file in (_walk(match) if os.path.isdir(match) else [match])]
            found.update((file, _size(file)) for file in files)
        except OSError as error:
            raise InputError(
                f"{error.filename or path}: cannot be listed ({error.strerror})", retry=retry_after(error)
            ) from error
        if not files:
            raise InputError(f"{path}: there is no file here to read")
    return tuple(InputFile(file, found[file]) for file in sorted(found))


def _size(path: str) -> int:
    """Splits are made of a size that stays, so what has none would be taken for empty and finished at once."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        shown = os.fsencode(path).decode(errors="backslashreplace")
        raise InputError(f"{shown}: the name is not UTF-8, which positions in a checkpoint must be; rename the file") from error
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode) or (status.st_size == 0 and _yields_data(path)):
        raise InputError(f"{path}: is no file of a known size (a pipe, a device?); write it to a file first and name that")
    return status.st_size


def _yields_data(path: str) -> bool:
    """Files that the kernel makes up while they are read, as in /proc, say that they are empty."""
    with open(path, "rb", buffering=0) as file:
        return bool(file.read(1))


def _walk(directory: str) -> list[str]:
    def fail(error: OSError) -> None:
        raise error

    files: list[str] = []
    for folder, subfolders, names in os.walk(directory, onerror=fail):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith(("_", ".")))
        partitions = [name for name in subfolders if "=" in name]
        if partitions:
            raise InputError(
                f"{Path(folder, partitions[0])}: partition directories would lose their columns here; "
                "read this data through a Spark DataFrame"
            )
        files += [os.path.join(folder, name) for name in names if not name.startswith(("_", "."))]
    return files
