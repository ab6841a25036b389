"""Differences between two versions of a spec. Pure."""

from __future__ import annotations

import difflib
import io
import zipfile
from collections import Counter
from collections.abc import Mapping
from typing import Any

from weir_backend.jobs.schemas import FieldChange

_TEXT_BYTES_MAX = 1 << 20
_LINES_MAX = 5_000
_WORK_MAX = 4_000_000
"""The limit on the pairs of equal lines that difflib compares in the worst case. difflib needs more than a microsecond to compare two equal
lines. The two versions of an ordinary file have a few thousand such pairs."""
_ABSENT = object()


def changes(before: Any, after: Any, path: str = "") -> list[FieldChange]:
    """Return the differences between two JSON objects by field."""
    if isinstance(before, dict) and isinstance(after, dict):
        found = []
        for name in sorted(before.keys() | after.keys()):
            inner = f"{path}.{name}" if path else name
            found += changes(before.get(name, _ABSENT), after.get(name, _ABSENT), inner)
        return found
    if before == after and type(before) is type(after):
        return []
    return [FieldChange(path=path, before=None if before is _ABSENT else before, after=None if after is _ABSENT else after)]


def code_diff(before: bytes, after: bytes, names: tuple[str, str]) -> str | None:
    """Return a unified diff, which is '' if the files are equal. Return None if a file is not text or is too large, or if
    the comparison would take too long."""
    texts = [_text(data) for data in (before, after)]
    if texts[0] is None or texts[1] is None:
        return None
    if _takes_too_long(texts[0], texts[1]):
        return None
    return "".join(difflib.unified_diff(texts[0], texts[1], *names))


def _takes_too_long(before: list[str], after: list[str]) -> bool:
    """Return whether difflib would take very long, for example because the files repeat a few lines many times."""
    if max(len(before), len(after)) > _LINES_MAX:
        return True
    found, others = Counter(before), Counter(after)
    pairs = sum(count * others[line] for line, count in found.items())
    return pairs * min(len(found), len(others)) > _WORK_MAX


def _text(data: bytes) -> list[str] | None:
    if len(data) > _TEXT_BYTES_MAX:
        return None
    if data.startswith(b"PK\x03\x04"):
        return _listing(data)
    try:
        return data.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return None


def _listing(data: bytes) -> list[str] | None:
    """Return the entries of an archive with name, size and checksum."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return [f"{one.filename} {one.file_size} bytes, {one.CRC:08x}\n" for one in archive.infolist()]
    except (zipfile.BadZipFile, ValueError):
        return None


def operators(graph: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the operators of a physical graph by uid, without their source locations."""
    if graph is None:
        return {}
    return {
        operator["uid"]: {name: value for name, value in operator.items() if name != "site"}
        for operator in graph["logical"]["operators"]
    }
