"""Selecting the Node.js that builds the web UI, and building the web UI only after a change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import node


def installed(folder: Path) -> Path:
    """Create a fake Node.js and npm with the minimum version."""
    folder.mkdir(parents=True)
    for name in ("node", "npm"):
        command = folder / name
        command.write_text(f"#!/bin/sh\necho v{node.NODE_MIN[0]}.{node.NODE_MIN[1]}.0\n")
        command.chmod(0o755)
    return folder


@pytest.fixture
def node_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("WEIR_FORCE_NODE_WHEEL", raising=False)
    monkeypatch.setattr(node, "FOLDER", tmp_path / ".node")
    return tmp_path / ".node"


def test_the_node_that_the_repository_installs_does_not_count_as_the_system_node(
    node_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, system = installed(node_folder / "env" / "bin"), installed(tmp_path / "usr" / "bin")
    monkeypatch.setenv("PATH", str(own))
    assert node.system_node() is None
    monkeypatch.setenv("PATH", os.pathsep.join([str(own), str(system)]))
    assert node.system_node() == system / "node"


def test_a_node_without_npm_is_ignored(node_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = installed(tmp_path / "usr" / "bin")
    (system / "npm").unlink()
    monkeypatch.setenv("PATH", str(system))
    assert node.system_node() is None


def test_the_web_ui_is_built_only_if_it_is_missing_or_its_sources_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontend = tmp_path / "frontend"
    for path, content in {"index.html": "page", "src/app/main.ts": "code", "node_modules/x.js": "package code"}.items():
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

    def builds() -> int:
        before = len(built)
        assert node.build_changed() == 0
        return len(built) - before

    monkeypatch.setattr(node, "run_script", build)
    assert (builds(), builds()) == (1, 0)
    (frontend / "node_modules" / "x.js").write_text("other package code")
    assert builds() == 0
    (frontend / "src/app/main.ts").write_text("other code")
    assert (builds(), builds()) == (1, 0)
    (frontend / "dist" / "index.html").write_text("built from other sources")
    assert (builds(), builds()) == (1, 0)
    (frontend / "dist" / "index.html").unlink()
    assert (builds(), builds()) == (1, 0)
    monkeypatch.setattr(node, "run_script", lambda name, arguments: 3)
    (frontend / "src/app/main.ts").write_text("does not compile")
    assert (node.build_changed(), node.build_changed()) == (3, 3)
