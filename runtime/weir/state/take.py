"""Picking rows of Arrow columns by number, for the types that Arrow's own ``take`` leaves out too."""

from __future__ import annotations

import pyarrow as pa

from weir.state.memory import Words

_DETOURS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def take_rows(column: pa.Array, rows: Words) -> pa.Array:
    """``column`` at ``rows``, of the same type."""
    detour = _DETOURS.get(column.type)
    if detour is not None:
        return column.cast(detour).take(pa.array(rows)).cast(column.type)
    return column.take(pa.array(rows))
