"""The output of ``weir up``."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from weir_workers.embedded.cli.output import option, print_usage
from weir_workers.embedded.data_dir import credentials
from weir_workers.embedded.data_dir.layout import DataDir, data_dir
from weir_workers.embedded.data_dir.platform_state import ChildState, Phase, PlatformState, Ports
from weir_workers.embedded.processes import ProcessId
from weir_workers.embedded.supervisor.state_machine import State

UP = PlatformState(
    "1", ProcessId(7, "then"), Phase.UP, Ports(postgres=5_000, api=8_700), "http://127.0.0.1:8700",
    children={"schema": ChildState(State.DONE), "api": ChildState(State.READY, ProcessId(8, "then"))},
    external={"postgres": "db.example:5432"}, notes=("port 8700 is taken",),
)  # fmt: skip


def printed_usage(directory: DataDir, *, ran_already: bool) -> dict[str, object]:
    output = io.StringIO()
    print_usage(directory, UP, output, ran_already=ran_already)
    found: dict[str, object] = json.loads(output.getvalue())
    return found


def test_the_password_is_printed_only_once_and_other_secrets_are_never_printed(tmp_path: Path) -> None:
    directory = DataDir(tmp_path)
    secrets = credentials.load_or_create(directory.secrets)
    first, second = printed_usage(directory, ran_already=False), printed_usage(directory, ran_already=True)
    assert (first["password"], second["password"]) == (secrets.admin_password, None)
    for other in (secrets.database_password, secrets.redis_password, secrets.secret_key):
        assert other not in json.dumps([first, second])


def test_processes_are_printed_with_pid_and_port(tmp_path: Path) -> None:
    found = printed_usage(DataDir(tmp_path), ran_already=False)
    assert found["processes"] == [
        {"name": "schema", "state": "done", "pid": None, "port": None},
        {"name": "api", "state": "ready", "pid": 8, "port": 8_700},
    ]
    assert (found["supervisor_pid"], found["external"]) == (7, {"postgres": "db.example:5432"})
    assert found["notes"] == ["port 8700 is taken"]


def test_commands_name_the_data_directory_only_if_it_is_not_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path))
    assert option(data_dir(tmp_path, {})) == ""
    assert option(data_dir(tmp_path / "other", {})) == f" --data-dir {tmp_path / 'other'}"
