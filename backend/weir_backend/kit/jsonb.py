"""JSON for jsonb columns: no NaN, and no character that Postgres cannot store."""

from __future__ import annotations

import json
from typing import Any


def dumps(value: Any) -> str:
    """Return ``value`` as JSON that Postgres can store. Raises ValueError for NaN and infinities."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    # Postgres refuses U+0000 and unpaired surrogates in jsonb. User code can put such characters into file names and messages.
    return _storable(text) if "\\u0000" in text or "\\ud" in text else text


def _storable(text: str) -> str:
    return json.dumps(clean(json.loads(text)), separators=(",", ":"), ensure_ascii=True)


def clean(value: Any) -> Any:
    """Return ``value`` with U+FFFD in place of characters that Postgres cannot store."""
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
