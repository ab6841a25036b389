"""Checks that ARCHITECTURE.md names only paths that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PARTS = {
    "runtime": ROOT / "runtime" / "weir",
    "backend": ROOT / "backend" / "weir_backend",
    "workers": ROOT / "workers" / "weir_workers",
    "frontend": ROOT / "frontend" / "src",
}
SECTION = (ROOT / "ARCHITECTURE.md").read_text().partition("## To change X")[2].partition("\n## ")[0]
ROWS = [row for row in re.findall(r"^\| (.+?) \| (.+) \|$", SECTION, re.MULTILINE) if row[0] != "to change"]


def test_the_test_finds_the_tables_in_architecture_md() -> None:
    assert len(ROWS) > 10


@pytest.mark.parametrize(("change", "paths"), ROWS, ids=[change[:40] for change, _ in ROWS])
def test_all_paths_in_the_tables_of_architecture_md_exist(change: str, paths: str) -> None:
    part = ROOT
    found = re.findall(r"\b(runtime|backend|workers|frontend):|`([^`]*/[^`]*|[a-z_]+\.py)`", paths)
    assert any(path for _, path in found), f"{change}: no path is recognised"
    for name, path in found:
        part = PARTS[name] if name else part
        assert not path or (part / path).exists() or (ROOT / path).exists(), f"{change}: {path}"
