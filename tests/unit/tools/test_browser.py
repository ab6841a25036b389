from __future__ import annotations

import sys
from pathlib import Path

import pytest

import browser

DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n'
UBUNTU = "ID=ubuntu\nID_LIKE=debian\n"


def program(folder: Path, name: str, script: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    made = folder / name
    made.write_text(f"#!/bin/sh\n{script}\n")
    made.chmod(0o755)
    return made


@pytest.fixture
def bin_dir(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def release(tmp_path: Path, text: str) -> Path:
    made = tmp_path / "os-release"
    made.write_text(text)
    return made


def test_chromium_is_preferred_to_chrome(bin_dir: Path) -> None:
    program(bin_dir, "google-chrome")
    chromium = program(bin_dir, "chromium")
    assert browser.find({"PATH": str(bin_dir)}) == chromium


def test_the_configured_browser_takes_precedence_over_path(tmp_path: Path, bin_dir: Path) -> None:
    program(bin_dir, "chromium")
    mine = program(tmp_path / "mine", "chrome")
    assert browser.find({"PATH": str(bin_dir), browser.VARIABLE: str(mine)}) == mine


def test_a_configured_browser_that_is_missing_is_an_error(bin_dir: Path) -> None:
    program(bin_dir, "chromium")
    with pytest.raises(browser.NoBrowser, match="WEIR_CHROMIUM is /nonexistent/chrome"):
        browser.chromium({"PATH": str(bin_dir), browser.VARIABLE: "/nonexistent/chrome"})


def test_root_on_debian_gets_a_browser_installed(tmp_path: Path, bin_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # In Python, because PATH has only this fake apt-get.
    apt = bin_dir / "apt-get"
    apt.write_text(
        f"#!{sys.executable}\n"
        "import sys, pathlib\n"
        f"with open({str(tmp_path / 'calls')!r}, 'a') as calls: print(*sys.argv[1:], file=calls)\n"
        f"made = pathlib.Path({str(bin_dir / 'chromium')!r})\n"
        "if sys.argv[1] == 'install': made.touch(), made.chmod(0o755)\n"
    )
    apt.chmod(0o755)
    found = browser.chromium({"PATH": str(bin_dir)}, is_root=True, release=release(tmp_path, DEBIAN))
    assert found == bin_dir / "chromium"
    assert "installing chromium" in capsys.readouterr().out
    update, install = (tmp_path / "calls").read_text().splitlines()
    assert update.startswith("update") and "chromium" in install.split()


@pytest.mark.parametrize(("is_root", "text"), [(False, DEBIAN), (True, UBUNTU), (True, "")])
def test_without_root_or_debian_the_error_says_what_to_do(tmp_path: Path, bin_dir: Path, is_root: bool, text: str) -> None:
    program(bin_dir, "apt-get", "exit 1")
    with pytest.raises(browser.NoBrowser, match="No Chromium or Chrome on PATH .* WEIR_CHROMIUM="):
        browser.chromium({"PATH": str(bin_dir)}, is_root=is_root, release=release(tmp_path, text))


def test_errors_of_apt_are_reported(tmp_path: Path, bin_dir: Path) -> None:
    program(bin_dir, "apt-get", "echo 'E: there is no network' >&2; exit 100")
    with pytest.raises(browser.NoBrowser, match="apt-get update failed: E: there is no network"):
        browser.chromium({"PATH": str(bin_dir)}, is_root=True, release=release(tmp_path, DEBIAN))


def test_only_root_runs_without_a_sandbox() -> None:
    assert "--no-sandbox" in browser.arguments(is_root=True)
    assert "--no-sandbox" not in browser.arguments(is_root=False)
