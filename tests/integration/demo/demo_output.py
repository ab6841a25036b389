"""Checks the output of both demos."""

from __future__ import annotations

import re


def check_both_jobs(output: str) -> None:
    assert len(re.findall(r"RECOVERED in \d+ ms", output)) == 2
    assert "EQUAL: delays per carrier, all 16 rows" in output
    assert "EQUAL: running counts per route, all 328,521 rows" in output
    assert re.search(r"EQUAL: occurrences per word, all [\d,]{5,} rows", output)
    assert "UNEQUAL" not in output and "FAILED" not in output
