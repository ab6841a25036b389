from __future__ import annotations

from pathlib import Path

import pytest

import check_portable

HASH = "    --hash=sha256:0667b81b3ddc60157f773e0d05d00f4d46530f82bdc59e295b322b8d33f69417"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("requirements/dev.lock", "--index-url https://mirror.example/simple"),
        ("requirements/dev.lock", "-i mirror"),
        ("requirements/dev.lock", "six @ https://mirror.example/six-1.17.0.whl"),
        ("requirements/dev.lock", "--find-links /srv/wheels"),
        ("frontend/package-lock.json", '"resolved": "https://mirror.example/react.tgz"'),
        ("pyproject.toml", 'cache-dir = "/root/.cache/uv"'),
        ("Makefile", "PYTHON := /home/ann/python"),
        (".ci/run", "cd /Users/ann/weir"),
        ("docs/x.md", f"see {check_portable.ROOT}/docs"),
    ],
)
def test_text_that_is_valid_only_on_one_machine_is_detected(name: str, line: str) -> None:
    assert next(check_portable.faults(Path(name), f"first\n{line}\n")).startswith(f"{name}:2: ")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("requirements/dev.lock", "six==1.17.0 ; sys_platform == 'linux' \\"),
        ("requirements/dev.lock", HASH),
        ("pyproject.toml", 'urls = { Home = "https://weir.example" }'),
        ("Makefile", "BIN := $(VENV)/root/bin"),
        ("README.md", "https://example.org/home/ann/"),
    ],
)
def test_portable_text_is_accepted(name: str, line: str) -> None:
    assert list(check_portable.faults(Path(name), line)) == []
