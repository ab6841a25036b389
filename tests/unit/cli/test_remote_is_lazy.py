"""What a run, and whatever else is no client of a platform, must not load."""

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
CLIENT = ("httpx2", "httpcore2", "weir.cli.remote.client", "weir.cli.remote.commands")
PLATFORM = ("weir_backend", "weir_workers", "fastapi", "sqlalchemy", "celery")


def modules_after(*arguments: str) -> set[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    done = subprocess.run(
        [sys.executable, "-c", LOADED, json.dumps(arguments)], capture_output=True, text=True, env=environment, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments", [("run", "--help"), ("run", "nowhere.py"), ("graph", "nowhere.py"), ("params", "nowhere.py")]
)
def test_a_run_loads_nothing_of_the_client(arguments: tuple[str, ...]) -> None:
    assert not modules_after(*arguments) & set(CLIENT + PLATFORM)


def test_a_directory_of_checkpoints_is_looked_into_without_a_client(tmp_path: os.PathLike[str]) -> None:
    found = modules_after("checkpoints", str(tmp_path))
    assert "weir.storage.inspection" in found and not found & {"httpx2", *PLATFORM}


def test_a_command_at_a_platform_loads_neither_the_platform_nor_the_data_plane() -> None:
    found = modules_after("jobs")
    assert "weir.cli.remote.commands" in found
    assert not found & {*PLATFORM, "pyspark", "polars", "pyarrow", "numba", "weir.spark", "weir.cli.run"}
    assert "httpx2" not in found, "not before there is somebody to ask"
