"""JSON as the database has it: no NaN, and no character that Postgres cannot keep."""

from __future__ import annotations

import json
from typing import Any


def dumps(value: Any) -> str:
    """Raises ValueError for a number that JSON has no word for."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    # Postgres refuses U+0000 and halves of surrogate pairs in jsonb. They come from names of files and from messages of user code.
    return _without_unkept(text) if "\\u0000" in text or "\\ud" in text else text


def _without_unkept(text: str) -> str:
    return json.dumps(clean(json.loads(text)), separators=(",", ":"), ensure_ascii=True)


def clean(value: Any) -> Any:
    """``value`` with U+FFFD in place of what text in Postgres cannot hold."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean(name): clean(item) for name, item in value.items()}
    if isinstance(value, list):
        return [clean(item) for item in value]
    return value


def clean_text(text: str) -> str:
    return text.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def loads(text: str | bytes) -> Any:
    return json.loads(text)
