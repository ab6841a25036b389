"""The size limits of the answers of ``weir mcp``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from weir.cli.client.errors import Refused
from weir.cli.mcp.answers import ANSWER_BYTES_MAX, OMISSIONS_MAX, answer, page


def size_of(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


def test_an_answer_that_fits_is_unchanged() -> None:
    content = {"text": "x" * 20_000, "rows": list(range(1_000))}
    assert answer(content) == {"item": content, "omitted": []}


def test_a_long_list_is_shortened_and_the_answer_says_so() -> None:
    found = answer({"preview": {"abandoned": list(range(100_000))}})
    assert found["item"]["preview"]["abandoned"] == list(range(200))
    assert found["omitted"] == ["preview.abandoned: the first 200 of 100,000 elements"]


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    found = answer({"reason": "Traceback" + "x" * 100_000 + "ValueError: 7"})
    text = found["item"]["reason"]
    assert text.startswith("Traceback") and text.endswith("ValueError: 7") and len(text) <= 8_000
    assert found["omitted"] == ["reason: 8,000 of 100,022 characters; the middle is left out"]


def test_nested_lists_are_shortened_until_the_answer_fits() -> None:
    found = answer({"chains": [{"subtasks": [{"size": number} for number in range(1_000)]} for _ in range(1_000)]})
    assert size_of(found["item"]) <= ANSWER_BYTES_MAX
    assert len(found["omitted"]) == OMISSIONS_MAX + 1 and found["omitted"][-1].endswith(" more places")


def test_an_answer_that_cannot_be_shortened_is_refused() -> None:
    with pytest.raises(Refused, match="The answer is too large: [0-9,]+ bytes as JSON. Open it in the web UI"):
        answer({f"field {number}": "x" * 100 for number in range(10_000)})


def test_a_page_has_a_cursor_only_if_more_rows_exist() -> None:
    rows = [{"id": number} for number in (9, 8, 7)]
    assert page(rows, 2) == {"items": rows[:2], "next_cursor": 8, "omitted": []}
    assert page(rows, 3) == {"items": rows, "next_cursor": None, "omitted": []}
    assert page([], 3) == {"items": [], "next_cursor": None, "omitted": []}


def test_rows_that_do_not_fit_are_on_the_next_page() -> None:
    rows = [{"id": number, "reason": "x" * 15_000} for number in range(20, 0, -1)]
    seen: list[int] = []
    while rows:
        found = page(rows, 10)
        assert size_of(found["items"]) <= ANSWER_BYTES_MAX + 100 and found["omitted"] == []
        seen += [row["id"] for row in found["items"]]
        rows = [row for row in rows if found["next_cursor"] is not None and row["id"] < found["next_cursor"]]
    assert seen == list(range(20, 0, -1))


def test_a_large_row_is_shortened_and_named_by_its_index() -> None:
    found = page([{"id": 2}, {"id": 1, "reason": "x" * 50_000}], 10)
    assert found["omitted"] == ["items[1].reason: 8,000 of 50,000 characters; the middle is left out"]
