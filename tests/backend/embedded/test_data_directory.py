"""The data directory: permissions, credentials, platform state, locks, processes, logs and ports."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from weir.errors import ConfigError
from weir_workers.embedded.data_dir import credentials, platform_state
from weir_workers.embedded.data_dir.layout import DataDir, data_dir
from weir_workers.embedded.data_dir.logs import rotate
from weir_workers.embedded.data_dir.platform_state import ChildState, Phase, PlatformState, Ports, failed_child
from weir_workers.embedded.ports import free_port
from weir_workers.embedded.processes import ProcessId, began, end_all, process_id, spawn
from weir_workers.embedded.supervisor.startup import prepare
from weir_workers.embedded.supervisor.state_machine import State
from weir_workers.file_lock import Lock, is_held


@pytest.fixture
def directory() -> Iterator[DataDir]:
    # Do not use pytest's directory, because the system user that runs Postgres has no access to it.
    with tempfile.TemporaryDirectory(prefix="weir-data-") as made:
        Path(made).chmod(0o755)
        yield DataDir(Path(made) / "weir")


def test_the_default_data_directory_depends_on_the_environment_and_the_user(tmp_path: Path) -> None:
    assert data_dir(None, {"WEIR_HOME": str(tmp_path)}).root == tmp_path
    assert data_dir(tmp_path / "a" / ".." / "b", {"WEIR_HOME": "/elsewhere"}).root == tmp_path / "b"
    default = Path("/var/lib/weir") if os.geteuid() == 0 else Path.home() / ".local/share/weir"
    assert data_dir(None, {}).root == default


def test_other_users_have_no_access_to_the_data_directory(directory: DataDir) -> None:
    directory.make()
    assert directory.root.stat().st_mode & 0o777 == (0o711 if os.geteuid() == 0 else 0o700)
    assert all(one.stat().st_mode & 0o777 == 0o700 for one in directory.root.iterdir())
    directory.make()


def test_a_data_directory_that_contains_other_files_is_refused(directory: DataDir) -> None:
    directory.root.mkdir(mode=0o755)
    (directory.root / "thesis.txt").touch()
    with pytest.raises(ConfigError, match="contains other files \\(such as thesis.txt\\)"):
        directory.make()
    assert directory.root.stat().st_mode & 0o777 == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="Postgres runs as a different user only if Weir runs as root")
def test_a_directory_that_postgres_cannot_reach_is_refused(directory: DataDir) -> None:
    directory.root.parent.chmod(0o700)
    with pytest.raises(ConfigError, match="cannot access .* through .*: choose a directory"):
        directory.make()


def test_the_error_names_the_data_directory_that_cannot_be_created() -> None:
    with pytest.raises(ConfigError, match="cannot create the data directory /proc/weir"):
        DataDir(Path("/proc/weir")).make()


def test_credentials_are_created_once_and_only_their_owner_can_read_them(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    assert credentials.load(path) is None
    made = credentials.load_or_create(path)
    assert credentials.load_or_create(path) == made
    assert path.stat().st_mode & 0o777 == 0o600
    assert len({made.database_password, made.redis_password, made.secret_key, made.admin_password}) == 4
    assert made.admin_password not in repr(made) and made.secret_key not in repr(made)
    credentials.mark_password_shown(path, made)
    assert credentials.load(path) == replace(made, admin_password_told=True)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", '{"database_password": "x"}'])
def test_damaged_credentials_are_never_replaced(tmp_path: Path, text: str) -> None:
    path = tmp_path / "secrets.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match="secrets.json is damaged"):
        credentials.load_or_create(path)
    assert path.read_text() == text


STATE = PlatformState(
    version="1",
    supervisor=ProcessId(7, "then"),
    phase=Phase.STARTING,
    ports=Ports(postgres=1, valkey=None, api=3),
    url="http://127.0.0.1:3",
    children={
        "postgres": ChildState(State.READY, ProcessId(8, "then"), 0.5),
        "api": ChildState(State.WAITING, restarts=2, failures=2, problem="ended with exit code 1"),
    },
    external={"valkey": "cache.example:6379"},
    notes=("a note",),
)


def test_a_written_platform_state_is_read_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "platform.json"
    platform_state.write(path, STATE)
    assert platform_state.read(path) == STATE
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["platform.json"]


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"version": "2", "supervisor": 3}'])
def test_a_platform_state_file_that_is_invalid_or_missing_is_ignored(tmp_path: Path, text: str) -> None:
    path = tmp_path / "platform.json"
    path.write_text(text)
    assert platform_state.read(path) is None
    assert platform_state.read(tmp_path / "missing.json") is None


def test_a_start_fails_if_a_process_fails_three_times() -> None:
    assert failed_child(STATE) is None
    broken = {**STATE.children, "api": replace(STATE.children["api"], failures=3)}
    assert failed_child(replace(STATE, children=broken)) == "api"
    assert failed_child(replace(STATE, children=broken, phase=Phase.UP)) is None, "a running platform restarts the process"


def test_a_process_holds_the_lock_exclusively_until_the_process_ends(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_held(path)
    program = (
        "import sys, pathlib; from weir_workers.file_lock import Lock; l = Lock(pathlib.Path(sys.argv[1])); "
        "print(l.take(), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"True\n"
        assert is_held(path)
        assert not Lock(path).take()
        other.kill()
    assert not is_held(path)
    lock = Lock(path)
    assert lock.take()
    lock.release()


def test_a_process_is_identified_by_pid_and_start_time() -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        known = process_id(sleeper.pid)
        assert known.lives
        assert not ProcessId(sleeper.pid, "another time").lives
        ProcessId(sleeper.pid, "another time").signal(signal.SIGKILL)
        assert known.lives, "a signal for an ended process is not sent to a new process with the same pid"
        known.signal(signal.SIGKILL)
        while known.lives:
            pass
        assert began(sleeper.pid) is None, "a process that has exited but is not reaped counts as ended"


def test_a_process_that_ignores_its_stop_signal_is_killed() -> None:
    with subprocess.Popen(
        ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        known = process_id(process.pid)
        assert end_all([(known, signal.SIGTERM), (ProcessId(process.pid, "before"), signal.SIGTERM)], grace_s=0.2) == [known]
        assert not known.lives


def test_a_large_log_is_rotated_while_a_process_writes_to_it(tmp_path: Path) -> None:
    log = tmp_path / "api.log"
    program = "import sys\nfor line in sys.stdin: print(line.strip(), flush=True); print('done', file=sys.stderr, flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=log.open("ab"), stderr=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdin is not None and writer.stderr is not None
        for line in ("first " * 20, "second"):
            print(line, file=writer.stdin, flush=True)
            assert writer.stderr.readline() == "done\n"
            rotate([log, tmp_path / "missing.log"], size_bytes_max=100)
        writer.stdin.close()
    assert log.read_text() == "second\n", "the rotated file does not begin with null bytes"
    assert log.with_name("api.log.1").read_text().startswith("first first")
    assert log.with_name("api.log.1").stat().st_mode & 0o777 == 0o600


def test_a_child_process_ends_with_its_parent_and_has_a_private_log(tmp_path: Path) -> None:
    program = (
        "import os, sys, pathlib; from weir_workers.embedded.processes import spawn; "
        "p = spawn(['sh', '-c', 'echo begun; exec sleep 60'], log=pathlib.Path(sys.argv[1]), environment=os.environ, "
        "directory=pathlib.Path('/')); print(p.pid, flush=True); sys.stdin.read()"
    )
    log = tmp_path / "log"
    with subprocess.Popen([sys.executable, "-c", program, log], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = process_id(int(parent.stdout.readline()))
        assert child.lives
        parent.kill()
    while child.lives:
        pass
    assert log.stat().st_mode & 0o777 == 0o600
    with spawn(["echo", "again"], log=log, environment={"PATH": os.defpath}, directory=Path("/")):
        pass
    assert log.read_text().endswith("again\n") and log.read_text().count("\n") <= 2


EXTERNAL = {"WEIR_DATABASE_URL": "postgresql://me:secret@db.example:5432/weir", "WEIR_REDIS_URL": "redis://:secret@cache.example"}


def test_external_servers_replace_the_embedded_servers_and_are_shown_without_passwords(directory: DataDir) -> None:
    directory.make()
    found = prepare(directory, EXTERNAL, None)
    assert found.external == {"postgres": "db.example:5432", "valkey": "cache.example"}
    assert [service.child.name for service in found.services] == ["schema", "api", "worker", "compiler", "chores", "beat"]
    assert (found.ports.postgres, found.ports.valkey) == (None, None)


@pytest.mark.parametrize(
    ("variable", "url"),
    [("WEIR_DATABASE_URL", "mysql://me:secret@db/weir"), ("WEIR_DATABASE_URL", "secret"), ("WEIR_REDIS_URL", "redis:secret")],
)
def test_the_error_for_an_invalid_server_url_does_not_contain_the_url(directory: DataDir, variable: str, url: str) -> None:
    directory.make()
    with pytest.raises(ConfigError, match=f"{variable} is not a server URL") as refused:
        prepare(directory, {**EXTERNAL, variable: url}, None)
    assert "secret" not in str(refused.value)


def test_the_api_keeps_its_port_unless_another_program_uses_the_port(directory: DataDir) -> None:
    directory.make()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        before = replace(STATE, ports=Ports(api=port))
        other.listen()
        found = prepare(directory, EXTERNAL, before)
        assert found.ports.api not in (None, port)
        assert [note for note in found.notes if note.startswith(f"another program uses port {port}")]
    kept = prepare(directory, EXTERNAL, before)
    assert kept.ports.api == port and kept.url == f"http://127.0.0.1:{port}"
    assert [note for note in kept.notes if "port" in note] == []


def test_two_servers_never_share_a_port(directory: DataDir) -> None:
    directory.make()
    port = free_port()
    ports = prepare(directory, {}, replace(STATE, ports=Ports(postgres=port, valkey=port, api=port))).ports
    assert ports.api == port, "drivers connect to the API at its old port"
    assert len({ports.api, ports.postgres, ports.valkey}) == 3


def test_a_database_that_another_postgres_version_created_is_refused(directory: DataDir) -> None:
    directory.make()
    directory.postgres.mkdir()
    (directory.postgres / "PG_VERSION").write_text("12\n")
    with pytest.raises(ConfigError, match="Postgres 12 created the data in .*, but Postgres [0-9]+ is installed"):
        prepare(directory, {}, None)


def test_the_platform_state_contains_no_secret(directory: DataDir) -> None:
    directory.make()
    prepare(directory, EXTERNAL, None)
    secrets = json.loads(directory.secrets.read_text())
    platform_state.write(directory.state, STATE)
    assert not [name for name, value in secrets.items() if str(value) in directory.state.read_text() and value is not False]


def notes_about_the_external_database(notes: Sequence[str]) -> list[str]:
    return [note for note in notes if "no longer uses the external database" in note]


def test_a_start_that_omits_the_previous_external_database_is_refused(directory: DataDir) -> None:
    directory.make()
    before = replace(STATE, external={"postgres": "db.example:5432"})
    without = {"WEIR_REDIS_URL": EXTERNAL["WEIR_REDIS_URL"]}
    for _ in range(2):
        with pytest.raises(
            ConfigError, match="the external database at db.example:5432, which contains its jobs: set WEIR_DATABASE_URL"
        ):
            prepare(directory, without, before)
    # If the data directory contains an embedded database, Weir uses this database.
    # The embedded database of this test has an unsupported version.
    directory.postgres.mkdir()
    (directory.postgres / "PG_VERSION").write_text("12\n")
    with pytest.raises(ConfigError, match="Postgres 12 created") as refused:
        prepare(directory, without, before)
    installed = re.search("but Postgres ([0-9]+) is installed", str(refused.value))
    assert installed is not None
    (directory.postgres / "PG_VERSION").write_text(f"{installed[1]}\n")
    (note,) = notes_about_the_external_database(prepare(directory, without, before).notes)
    assert "db.example:5432" in note and "set WEIR_DATABASE_URL" in note
    assert notes_about_the_external_database(prepare(directory, EXTERNAL, before).notes) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="the note about root appears only if Weir runs as root")
def test_a_note_warns_if_deployed_code_runs_as_root(directory: DataDir) -> None:
    directory.make()
    assert [
        note
        for note in prepare(directory, EXTERNAL, None).notes
        if note.startswith("the platform and the code of deployed jobs run as root")
    ]
