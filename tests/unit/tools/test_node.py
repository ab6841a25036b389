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


def test_the_web_interface_is_built_where_it_is_missing_or_was_made_from_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontend = tmp_path / "frontend"
    for path, content in {"index.html": "page", "src/app/main.ts": "code", "node_modules/x.js": "others'"}.items():
        (frontend / path).parent.mkdir(parents=True, exist_ok=True)
        (frontend / path).write_text(content)
    (tmp_path / "build").mkdir()
    monkeypatch.setattr(node, "ROOT", tmp_path)
    monkeypatch.setattr(node, "FRONTEND", frontend)
    built: list[str] = []

    def build(name: str, arguments: object) -> int:
        built.append(name)
        (frontend / "dist").mkdir(exist_ok=True)
        (frontend / "dist" / "index.html").write_text((frontend / "src/app/main.ts").read_text())
        return 0

    def times() -> int:
        before = len(built)
        assert node.build_changed() == 0
        return len(built) - before

    monkeypatch.setattr(node, "run_script", build)
    assert (times(), times()) == (1, 0)
    (frontend / "node_modules" / "x.js").write_text("theirs")
    assert times() == 0
    (frontend / "src/app/main.ts").write_text("other code")
    assert (times(), times()) == (1, 0)
    (frontend / "dist" / "index.html").write_text("built by hand from something else")
    assert (times(), times()) == (1, 0)
    (frontend / "dist" / "index.html").unlink()
    assert (times(), times()) == (1, 0)
    monkeypatch.setattr(node, "run_script", lambda name, arguments: 3)
    (frontend / "src/app/main.ts").write_text("does not compile")
    assert (node.build_changed(), node.build_changed()) == (3, 3)
