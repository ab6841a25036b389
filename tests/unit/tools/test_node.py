"""Which Node the web interface is built with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import node


def installed(folder: Path) -> Path:
    """A Node with npm, new enough."""
    folder.mkdir(parents=True)
    for name in ("node", "npm"):
        command = folder / name
        command.write_text(f"#!/bin/sh\necho v{node.NODE_MIN[0]}.{node.NODE_MIN[1]}.0\n")
        command.chmod(0o755)
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("WEIR_FORCE_NODE_WHEEL", raising=False)
    monkeypatch.setattr(node, "PLACE", tmp_path / ".node")
    return tmp_path / ".node"


def test_what_was_made_here_is_not_taken_for_that_of_the_machine(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = installed(place / "env" / "bin"), installed(tmp_path / "usr" / "bin")
    monkeypatch.setenv("PATH", str(ours))
    assert node.system_node() is None
    monkeypatch.setenv("PATH", os.pathsep.join([str(ours), str(theirs)]))
    assert node.system_node() == theirs / "node"


def test_one_without_npm_is_of_no_use(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = installed(tmp_path / "usr" / "bin")
    (theirs / "npm").unlink()
    monkeypatch.setenv("PATH", str(theirs))
    assert node.system_node() is None
