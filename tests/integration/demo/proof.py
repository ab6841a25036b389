"""What either demo says once it has proved its jobs."""

from __future__ import annotations

import re


def both_jobs_recovered_and_are_equal(told: str) -> None:
    assert len(re.findall(r"RECOVERED in \d+ ms", told)) == 2
    assert "EQUAL: delays per carrier, all 16 rows" in told
    assert "EQUAL: running counts per route, all 328,521 rows" in told
    assert re.search(r"EQUAL: occurrences per word, all [\d,]{5,} rows", told)
    assert "UNEQUAL" not in told and "FAILED" not in told
