"""Commands of other packages."""

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


def run_weir(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[Any, str, str]:
    monkeypatch.setattr(sys, "argv", ["weir", *arguments])
    with pytest.raises(SystemExit) as ended:
        app.app()
    out, err = capsys.readouterr()
    return ended.value.code, out, err


@pytest.mark.usefixtures("installed")
def test_a_plugin_command_runs_although_another_plugin_package_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run_weir(monkeypatch, capsys, "greet")
    assert (code, out) == (0, "good day\n")
    assert "Cannot load the commands of 'a'" in err and "No module named 'celery'" in err


@pytest.mark.usefixtures("installed")
def test_plugins_can_add_commands_but_cannot_replace_built_in_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run_weir(monkeypatch, capsys, "--help")
    assert code == 0 and "greet" in out and "checkpoints" in out
    assert "Run a job until its input ends" in run_weir(monkeypatch, capsys, "run", "--help")[1]


@pytest.mark.usefixtures("installed")
def test_the_error_for_an_unknown_command_suggests_the_most_similar_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run_weir(monkeypatch, capsys, "greett")
    assert code == 2 and "No such command" in err and "greet" in err


def test_a_built_in_command_loads_no_plugins() -> None:
    program = """
        import sys
        from weir.cli import app, plugins
        def no(*_): raise AssertionError("plugins were loaded")
        plugins.add_plugins = no
        sys.argv = ["weir", "run", "--help"]
        try:
            app.app()
        except SystemExit as ended:
            assert not ended.code
        assert not {"weir_workers", "weir_backend", "celery", "sqlalchemy", "psycopg"} & sys.modules.keys()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, stdout=subprocess.DEVNULL)
