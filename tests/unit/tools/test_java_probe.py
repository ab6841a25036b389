from __future__ import annotations

from pathlib import Path

import pytest

from java_probe import JavaProbe


def fake_java(folder: Path, version_line: str, *, exit_code: int = 0) -> Path:
    """Create a program that prints a version line to standard error, like ``java -version``."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{version_line}' >&2\nexit {exit_code}\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize("major", [17, 21, 25])
def test_a_supported_java_on_path_is_used(tmp_path: Path, major: int) -> None:
    java = fake_java(tmp_path, f'openjdk version "{major}.0.1" 2025-01-01')
    assert JavaProbe({"PATH": str(java.parent)}).suitable() == f"Java {major} ({java})"


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22", "16.0.2", "26"])
def test_an_unsupported_java_is_reported_with_its_version(tmp_path: Path, version: str) -> None:
    java = fake_java(tmp_path, f'openjdk version "{version}"')
    probe = JavaProbe({"PATH": str(java.parent)})
    assert probe.suitable() is None
    assert f"{java} is Java {version.split('.', maxsplit=1)[0]}" in probe.why_wheel()


def test_java_home_takes_precedence_over_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", 'openjdk version "21.0.8"')
    on_path = fake_java(tmp_path / "path", 'openjdk version "17.0.15"')
    probe = JavaProbe({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)})
    assert probe.suitable() == f"Java 21 ({home})"


def test_a_missing_java_home_is_ignored(tmp_path: Path) -> None:
    on_path = fake_java(tmp_path, 'openjdk version "17.0.15"')
    assert JavaProbe({"JAVA_HOME": "/nonexistent", "PATH": str(on_path.parent)}).suitable() == f"Java 17 ({on_path})"


def test_a_java_program_that_fails_is_not_suitable(tmp_path: Path) -> None:
    java = fake_java(tmp_path, 'openjdk version "17.0.15"', exit_code=1)
    probe = JavaProbe({"PATH": str(java.parent)})
    assert probe.suitable() is None
    assert "does not run" in probe.why_wheel()


def test_a_missing_java_is_reported(tmp_path: Path) -> None:
    probe = JavaProbe({"PATH": str(tmp_path)})
    assert probe.suitable() is None
    assert probe.identity() == []
    assert "none found" in probe.why_wheel()


def test_java_programs_in_different_directories_have_different_identities(tmp_path: Path) -> None:
    first = fake_java(tmp_path / "a", 'openjdk version "17"')
    second = fake_java(tmp_path / "b", 'openjdk version "17"')
    identities = [JavaProbe({"PATH": str(java.parent)}).identity() for java in (first, second)]
    assert identities[0] != identities[1]


@pytest.mark.parametrize(("value", "forced"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_the_java_wheel_can_be_forced_by_an_environment_variable(value: str, forced: bool) -> None:
    assert JavaProbe({"PATH": "", "WEIR_FORCE_JDK_WHEEL": value}).wheel_forced is forced
