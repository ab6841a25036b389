"""Is a source's input still the one that its position in a checkpoint is a position in?

Splits are enumerated once, when the job first starts. Another input under the same uid would not be looked at:
the job would end without a word, or go on in the middle of something else.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

import pyarrow as pa

from weir.errors import RestoreError
from weir.graph.checks import label
from weir.graph.logical import LogicalOperator
from weir.protocol.snapshots import JsonValue

IDENTIFYING: Mapping[str, tuple[str, ...]] = {
    "text": ("paths", "line_numbers"),
    "json_lines": ("paths",),
    "parquet": ("paths",),
    "dataframe": ("directory", "schema_ipc"),
    "generator": ("columns", "rows", "seed"),
    "iterable": ("data",),
}
"""Kind of source -> fields of its description that say which input it is, and what a position in it means.

Left out is what may change: how fast it is read (``rate``), how it is cut (which concerns splits that are yet to be made),
which columns of a file are looked at.
"""
_SHOWN_CHARACTERS = 120


def check_same_input(old: LogicalOperator, new: LogicalOperator) -> None:
    """Both of one kind. A field that one of the two lacks is of another version of weir. Raises RestoreError naming the operator."""
    before, after = old.config, new.config
    if not isinstance(before, dict) or not isinstance(after, dict):
        return
    for field in IDENTIFYING.get(str(after.get("kind")), ()):
        if field in before and field in after and not _same(field, before[field], after[field]):
            raise RestoreError(
                f"{label(new)} has another input than in the checkpoint: {_difference(field, before[field], after[field])}. Its "
                "position does not fit, and the new input would not be read: give it its old input back, or a new uid (it is read "
                "from the beginning then; the old position is left behind with --allow-non-restored-state)"
            )


def _same(field: str, before: JsonValue, after: JsonValue) -> bool:
    if before == after:
        return True
    if field == "paths" and isinstance(before, list) and isinstance(after, list):
        # All files are sorted, whatever order they were named in.
        return set(map(str, before)) == set(map(str, after))
    if field == "data" and isinstance(before, str) and isinstance(after, str):
        # The same rows may be compressed differently by another version of Arrow.
        return bool(_rows(before).equals(_rows(after)))
    return False


def _rows(data: str) -> pa.Table:
    """Of an iterable source: base64 of an Arrow IPC stream."""
    return pa.ipc.open_stream(pa.py_buffer(base64.b64decode(data))).read_all()


def _difference(field: str, before: JsonValue, after: JsonValue) -> str:
    match field:
        case "data":
            return "its rows have changed"
        case "schema_ipc":
            return "the query gives other columns or types than the rows that were staged"
        case _:
            return f"{field.replace('_', ' ')} {_short(after)} instead of {_short(before)}"


def _short(value: JsonValue) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
