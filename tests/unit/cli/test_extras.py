"""The packages that each command needs, and the error message if they are not installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from weir.cli import extras

ROOT = Path(__file__).parents[3]
# Maps the name of a distribution to the name of its module, if the two names differ.
MODULES = {"prometheus-client": "prometheus_client", "pyyaml": "yaml"}
# A program that runs the CLI while only the base dependencies can be imported. The last line of the output lists the loaded
# modules.
CLIENT_ONLY = """
import json, sys
blocked = json.loads(sys.argv[2])
for name in blocked:
    sys.modules[name] = None
from weir.cli.app import app
sys.argv = ["weir", *json.loads(sys.argv[1])]
code = None
try:
    app()
except SystemExit as ended:
    code = ended.code
loaded = [name for name, module in sys.modules.items() if module is not None]
print("\\n" + json.dumps([code or 0, sorted(loaded)]))
"""


def project() -> dict[str, Any]:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return dict(document["project"])


def modules_of(requirements: list[str]) -> set[str]:
    names = {re.split(r"[\[<>=;]", one)[0].strip() for one in requirements}
    return {MODULES.get(name, name).replace("-", "_") for name in names - {extras.DISTRIBUTION}}


# The list omits pydantic, because typer, a base dependency, depends on pydantic.
PLATFORM = ("alembic", "celery", "fastapi", "psutil", "psycopg", "pydantic_settings", "redis", "sqlalchemy", "uvicorn")
BLOCKED = (*extras.RUNTIME, *PLATFORM)


def weir(*arguments: str, blocked: Sequence[str] = BLOCKED) -> tuple[int, set[str], str]:
    """Run a command without the modules ``blocked``, and return its exit code, the loaded modules and standard error.

    By default, the modules of the extras runtime and platform are blocked.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    command = [sys.executable, "-c", CLIENT_ONLY, json.dumps(arguments), json.dumps(blocked)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    code, loaded = json.loads(done.stdout.splitlines()[-1])
    return code, set(loaded), done.stderr


def test_the_runtime_extra_lists_all_packages_that_runtime_commands_check_for() -> None:
    found = project()
    assert found["name"] == extras.DISTRIBUTION
    assert modules_of(found["optional-dependencies"]["runtime"]) == set(extras.RUNTIME)
    assert modules_of(found["dependencies"]) == {"typer", "rich", "structlog", "httpx2", "yaml", "msgspec"}


def test_the_platform_extra_includes_runtime_and_the_embedded_extra_includes_platform() -> None:
    found = project()["optional-dependencies"]
    assert "weir-streaming[runtime]" in found["platform"] and "weir-streaming[platform]" in found["embedded"]


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("jobs", "--help"), ("deploy", "--help"), ("status", "--help"), ("up", "--help"), ("run", "--help")],
)
def test_help_needs_only_the_base_package(arguments: tuple[str, ...]) -> None:
    code, loaded, error = weir(*arguments)
    assert (code, error) == (0, "")
    assert not loaded & {*extras.RUNTIME, *PLATFORM}


def test_client_commands_need_only_the_base_package() -> None:
    for arguments in (("jobs",), ("status", "flights"), ("deploy", "examples/flights.py", "--name", "flights")):
        code, loaded, error = weir(*arguments)
        assert code == 2 and "WEIR_API_URL" in error, "the command fails only because no address is configured"
        assert not loaded & {*extras.RUNTIME, *PLATFORM}


@pytest.mark.parametrize(
    "arguments", [("run", "job.py"), ("graph", "job.py"), ("params", "job.py"), ("checkpoints", "weir-checkpoints")]
)
def test_runtime_commands_report_that_the_runtime_extra_is_not_installed(arguments: tuple[str, ...]) -> None:
    code, _, error = weir(*arguments)
    assert code == 2
    assert error == (
        f"weir: This command needs the runtime, which is not installed (missing: {', '.join(extras.RUNTIME)}). "
        'Install it: pip install "weir-streaming[runtime]"\n'
    )


def test_the_mcp_command_reports_that_the_mcp_extra_is_not_installed() -> None:
    code, _, error = weir("mcp", blocked=["mcp"])
    assert code == 2
    assert error == (
        "weir: This command needs the library of the Model Context Protocol, which is not installed (missing: mcp). "
        'Install it: pip install "weir-streaming[mcp]"\n'
    )


def test_the_mcp_command_needs_neither_the_runtime_nor_the_platform() -> None:
    code, loaded, error = weir("mcp")
    assert code == 2 and "WEIR_API_URL" in error and "weir.cli.mcp.server" in loaded


@pytest.mark.parametrize("command", ["up", "down", "doctor", "migrate"])
def test_platform_commands_report_that_the_platform_extra_is_not_installed(command: str) -> None:
    code, _, error = weir(command, "--data-dir", "/tmp/weir-does-not-exist")
    assert code == 2 and error.startswith(
        "weir: This command needs the platform, which is not installed (missing: alembic, celery,"
    )
    assert error.endswith('Install it: pip install "weir-streaming[embedded]"\n')
