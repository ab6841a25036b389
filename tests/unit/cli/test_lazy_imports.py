"""Commands load only the modules that they need."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

LOADED = """
import json, sys
from weir.cli.app import app
sys.argv = ["weir", *json.loads(sys.argv[1])]
try:
    app()
except SystemExit as ended:
    print(ended.code, file=sys.stderr)
print("\\n" + json.dumps(sorted(sys.modules)))
"""
CLIENT = ("httpx2", "httpcore2", "weir.cli.client.api", "weir.cli.commands")
PLATFORM = ("weir_backend", "weir_workers", "fastapi", "sqlalchemy", "celery")


def modules_loaded_by(*arguments: str) -> set[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    done = subprocess.run(
        [sys.executable, "-c", LOADED, json.dumps(arguments)], capture_output=True, text=True, env=environment, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments", [("run", "--help"), ("run", "nowhere.py"), ("graph", "nowhere.py"), ("params", "nowhere.py")]
)
def test_commands_of_the_runtime_do_not_load_the_client(arguments: tuple[str, ...]) -> None:
    assert not modules_loaded_by(*arguments) & set(CLIENT + PLATFORM)


def test_listing_a_checkpoint_directory_does_not_load_the_http_client(tmp_path: os.PathLike[str]) -> None:
    found = modules_loaded_by("checkpoints", str(tmp_path))
    assert "weir.storage.inspection" in found and not found & {"httpx2", *PLATFORM}


def test_a_client_command_loads_neither_the_platform_nor_the_runtime() -> None:
    found = modules_loaded_by("jobs")
    assert "weir.cli.commands" in found
    assert not found & {*PLATFORM, "mcp", "pyspark", "polars", "pyarrow", "numba", "weir.spark", "weir.cli.run"}
    assert "httpx2" not in found, "the HTTP client is not loaded if no address is configured"
