from __future__ import annotations

import sys
from pathlib import Path

import pytest

import browser

DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n'
UBUNTU = "ID=ubuntu\nID_LIKE=debian\n"


def program(folder: Path, name: str, script: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    created = folder / name
    created.write_text(f"#!/bin/sh\n{script}\n")
    created.chmod(0o755)
    return created


@pytest.fixture
def bin_dir(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def release(tmp_path: Path, text: str) -> Path:
    created = tmp_path / "os-release"
    created.write_text(text)
    return created


def test_chromium_takes_precedence_over_chrome(bin_dir: Path) -> None:
    program(bin_dir, "google-chrome")
    chromium = program(bin_dir, "chromium")
    assert browser.find({"PATH": str(bin_dir)}) == chromium


def test_the_browser_in_the_variable_weir_chromium_takes_precedence_over_a_browser_on_path(tmp_path: Path, bin_dir: Path) -> None:
    program(bin_dir, "chromium")
    configured = program(tmp_path / "configured", "chrome")
    assert browser.find({"PATH": str(bin_dir), browser.VARIABLE: str(configured)}) == configured


def test_a_configured_browser_that_does_not_exist_is_refused(bin_dir: Path) -> None:
    program(bin_dir, "chromium")
    with pytest.raises(browser.NoBrowser, match="WEIR_CHROMIUM is /nonexistent/chrome"):
        browser.chromium({"PATH": str(bin_dir), browser.VARIABLE: "/nonexistent/chrome"})


def test_chromium_is_installed_for_root_on_debian(tmp_path: Path, bin_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The fake apt-get is a Python script, because PATH contains no shell commands.
    apt = bin_dir / "apt-get"
    apt.write_text(
        f"#!{sys.executable}\n"
        "import sys, pathlib\n"
        f"with open({str(tmp_path / 'calls')!r}, 'a') as calls: print(*sys.argv[1:], file=calls)\n"
        f"created = pathlib.Path({str(bin_dir / 'chromium')!r})\n"
        "if sys.argv[1] == 'install': created.touch(), created.chmod(0o755)\n"
    )
    apt.chmod(0o755)
    found = browser.chromium({"PATH": str(bin_dir)}, is_root=True, release=release(tmp_path, DEBIAN))
    assert found == bin_dir / "chromium"
    assert "installing chromium" in capsys.readouterr().out
    update, install = (tmp_path / "calls").read_text().splitlines()
    assert update.startswith("update") and "chromium" in install.split()


@pytest.mark.parametrize(("is_root", "text"), [(False, DEBIAN), (True, UBUNTU), (True, "")])
def test_without_root_or_on_a_system_other_than_debian_the_error_says_how_to_install_a_browser(
    tmp_path: Path, bin_dir: Path, is_root: bool, text: str
) -> None:
    program(bin_dir, "apt-get", "exit 1")
    with pytest.raises(browser.NoBrowser, match="No Chromium or Chrome on PATH .* WEIR_CHROMIUM="):
        browser.chromium({"PATH": str(bin_dir)}, is_root=is_root, release=release(tmp_path, text))


def test_the_error_for_a_failed_apt_get_contains_its_message(tmp_path: Path, bin_dir: Path) -> None:
    program(bin_dir, "apt-get", "echo 'E: no network' >&2; exit 100")
    with pytest.raises(browser.NoBrowser, match="apt-get update failed: E: no network"):
        browser.chromium({"PATH": str(bin_dir)}, is_root=True, release=release(tmp_path, DEBIAN))


def test_the_sandbox_of_the_browser_is_off_only_for_root() -> None:
    assert "--no-sandbox" in browser.arguments(is_root=True)
    assert "--no-sandbox" not in browser.arguments(is_root=False)
