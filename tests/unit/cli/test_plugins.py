"""Commands of other packages: there when they are asked for, not loaded for ours, harmless when they are broken."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from importlib.metadata import EntryPoint
from typing import Any

import pytest
import typer

from weir.cli import app, plugins


def add_to(app: typer.Typer) -> None:
    app.command("greet")(lambda: typer.echo("good day"))
    app.command("run")(lambda: typer.echo("not the real one"))


def broken(app: typer.Typer) -> None:
    raise ModuleNotFoundError("No module named 'celery'")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    here = "tests.unit.cli.test_plugins"
    points = [EntryPoint("a", f"{here}:broken", plugins.GROUP), EntryPoint("b", f"{here}:add_to", plugins.GROUP)]
    monkeypatch.setattr(plugins, "entry_points", lambda group: points)


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[Any, str, str]:
    monkeypatch.setattr(sys, "argv", ["weir", *arguments])
    with pytest.raises(SystemExit) as ended:
        app.app()
    out, err = capsys.readouterr()
    return ended.value.code, out, err


@pytest.mark.usefixtures("installed")
def test_a_command_of_another_package_runs_beside_one_that_cannot_be_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(monkeypatch, capsys, "greet")
    assert (code, out) == (0, "good day\n")
    assert "the commands of 'a'" in err and "No module named 'celery'" in err


@pytest.mark.usefixtures("installed")
def test_help_lists_all_and_ours_are_not_replaced(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(monkeypatch, capsys, "--help")
    assert code == 0 and "greet" in out and "checkpoints" in out
    assert "Run a job until it ends" in said(monkeypatch, capsys, "run", "--help")[1]


@pytest.mark.usefixtures("installed")
def test_a_command_that_nobody_has_is_a_wrong_argument(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = said(monkeypatch, capsys, "greett")
    assert code == 2 and "No such command" in err and "greet" in err


def test_a_command_of_ours_looks_for_no_others() -> None:
    program = """
        import sys
        from weir.cli import app, plugins
        def no(*_): raise AssertionError("it has looked for plugins")
        plugins.add_plugins = no
        sys.argv = ["weir", "run", "--help"]
        try:
            app.app()
        except SystemExit as ended:
            assert not ended.code
        assert not {"weir_workers", "weir_backend", "celery", "sqlalchemy", "psycopg"} & sys.modules.keys()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("command", ["up", "down", "doctor", "migrate"])
def test_without_the_platforms_packages_its_commands_say_what_to_install(command: str) -> None:
    program = f"""
        import sys
        for name in ("celery", "psycopg", "redis", "sqlalchemy", "psutil", "pydantic_settings"):
            sys.modules[name] = None  # how Python is told that there is no such module
        from weir.cli import app
        sys.argv = ["weir", "{command}", "--data-dir", "/tmp/weir-that-is-not-there"]
        app.app()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("weir: the platform is not installed")
    assert "pip install 'weir[embedded]'" in done.stderr and "Traceback" not in done.stderr
