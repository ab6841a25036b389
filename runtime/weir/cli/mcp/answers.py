"""The size limits of answers. Long texts and lists are shortened, and every answer says what it omits. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypedDict, TypeVar

from weir.cli.client.errors import Refused

ANSWER_BYTES_MAX = 64 << 10
"""The maximum size of an answer as JSON, without its list of omissions."""
ROW_BYTES_MAX = ANSWER_BYTES_MAX // 4
LIMITS = ((200, 8_000), (50, 2_000), (10, 500), (3, 200))
"""Pairs of the maximum number of elements in a list and the maximum number of characters in a text, tried in this order."""
OMISSIONS_MAX = 20
GAP = " [...] "

Content = TypeVar("Content")


class Answer(TypedDict, Generic[Content]):
    """One answer of the API. `omitted` says which long lists and texts are shortened."""

    item: Content
    omitted: list[str]


class Page(TypedDict, Generic[Content]):
    """One page of a list. To get the next page, pass `next_cursor` as `cursor`. `next_cursor` is null on the last page. `omitted` says which
    long lists and texts are shortened."""

    items: list[Content]
    next_cursor: int | None
    omitted: list[str]


def answer(content: Content) -> Answer[Content]:
    """Return an Answer with ``content``, shortened to ANSWER_BYTES_MAX. Raises Refused if the content is still too large."""
    shortened, omitted = _fitting(content, ANSWER_BYTES_MAX)
    return {"item": shortened, "omitted": _bounded(omitted)}


def page(rows: Sequence[Mapping[str, Any]], limit: int) -> Page[Any]:
    """Return a Page with the first ``limit`` rows, or fewer if they are larger than ANSWER_BYTES_MAX.

    A row after the returned rows means that there is another page, so callers request ``limit + 1`` rows.
    """
    items: list[Any] = []
    omitted: list[str] = []
    bytes_left = ANSWER_BYTES_MAX
    for row in rows[:limit]:
        shortened, left_out = _fitting(row, ROW_BYTES_MAX)
        bytes_left -= _size(shortened)
        if bytes_left < 0:
            break
        omitted += (f"items[{len(items)}].{one}" for one in left_out)
        items.append(shortened)
    more = len(items) < len(rows)
    return {"items": items, "next_cursor": items[-1]["id"] if more else None, "omitted": _bounded(omitted)}


def _fitting(content: Any, bytes_max: int) -> tuple[Any, list[str]]:
    """Return the content, if necessary shortened to ``bytes_max`` with the most generous limits, and a text for each omission."""
    if _size(content) <= bytes_max:
        return content, []
    for items_max, characters_max in LIMITS:
        omitted: list[str] = []
        shortened = _shortened(content, "", items_max, characters_max, omitted)
        if _size(shortened) <= bytes_max:
            return shortened, omitted
    raise Refused(f"The answer is too large: {_size(content):,} bytes as JSON. Open it in the web UI or with the weir command.")


def _shortened(value: Any, path: str, items_max: int, characters_max: int, omitted: list[str]) -> Any:
    if isinstance(value, str) and len(value) > characters_max:
        omitted.append(f"{path}: {characters_max:,} of {len(value):,} characters; the middle is left out")
        kept = (characters_max - len(GAP)) // 2
        return value[:kept] + GAP + value[-kept:]
    if isinstance(value, list):
        if len(value) > items_max:
            omitted.append(f"{path}: the first {items_max:,} of {len(value):,} elements")
        rest = enumerate(value[:items_max])
        return [_shortened(one, f"{path}[{index}]", items_max, characters_max, omitted) for index, one in rest]
    if isinstance(value, dict):
        names = ((name, f"{path}.{name}" if path else name) for name in value)
        return {name: _shortened(value[name], inner, items_max, characters_max, omitted) for name, inner in names}
    return value


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def _bounded(omitted: list[str]) -> list[str]:
    more = len(omitted) - OMISSIONS_MAX
    return omitted if more <= 0 else [*omitted[:OMISSIONS_MAX], f"{more:,} more places"]
