"""What lies in the data directory: who can read it, what is made once, what is done about files that are damaged or too large."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from weir.errors import ConfigError
from weir_workers.embedded import credentials, state
from weir_workers.embedded.children import free_port, spawn
from weir_workers.embedded.layout import DataDir, data_dir
from weir_workers.embedded.lock import Lock, is_held
from weir_workers.embedded.log_files import keep_small
from weir_workers.embedded.preparation import prepare
from weir_workers.embedded.processes import ProcessId, began, end_all, process_id
from weir_workers.embedded.state import ChildState, Phase, PlatformState, Ports, failed_child
from weir_workers.embedded.supervision import State


@pytest.fixture
def directory() -> Iterator[DataDir]:
    # Not in pytest's directory: another user may have to get through.
    with tempfile.TemporaryDirectory(prefix="weir-data-") as made:
        Path(made).chmod(0o755)
        yield DataDir(Path(made) / "weir")


def test_the_usual_place_is_that_of_the_environment_or_of_the_user(tmp_path: Path) -> None:
    assert data_dir(None, {"WEIR_HOME": str(tmp_path)}).root == tmp_path
    assert data_dir(tmp_path / "a" / ".." / "b", {"WEIR_HOME": "/elsewhere"}).root == tmp_path / "b"
    usual = Path("/var/lib/weir") if os.geteuid() == 0 else Path.home() / ".local/share/weir"
    assert data_dir(None, {}).root == usual


def test_it_is_closed_to_others(directory: DataDir) -> None:
    directory.make()
    assert directory.root.stat().st_mode & 0o777 == (0o711 if os.geteuid() == 0 else 0o700)
    assert all(one.stat().st_mode & 0o777 == 0o700 for one in directory.root.iterdir())
    directory.make()


def test_a_directory_with_other_things_in_it_is_left_alone(directory: DataDir) -> None:
    directory.root.mkdir(mode=0o755)
    (directory.root / "thesis.txt").touch()
    with pytest.raises(ConfigError, match="has other things in it \\(such as thesis.txt\\)"):
        directory.make()
    assert directory.root.stat().st_mode & 0o777 == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's Postgres runs as somebody else")
def test_a_place_that_postgres_cannot_get_to_is_refused(directory: DataDir) -> None:
    directory.root.parent.chmod(0o700)
    with pytest.raises(ConfigError, match="cannot get through .* to .*: choose a directory"):
        directory.make()


def test_a_place_that_cannot_be_made_is_named() -> None:
    with pytest.raises(ConfigError, match="/proc/weir cannot be made"):
        DataDir(Path("/proc/weir")).make()


def test_credentials_are_made_once_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    assert credentials.load(path) is None
    made = credentials.load_or_make(path)
    assert credentials.load_or_make(path) == made
    assert path.stat().st_mode & 0o777 == 0o600
    assert len({made.database_password, made.redis_password, made.secret_key, made.admin_password}) == 4
    assert made.admin_password not in repr(made) and made.secret_key not in repr(made)
    credentials.note_as_told(path, made)
    assert credentials.load(path) == replace(made, admin_password_told=True)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", '{"database_password": "x"}'])
def test_damaged_credentials_are_never_made_anew(tmp_path: Path, text: str) -> None:
    path = tmp_path / "secrets.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match="secrets.json is damaged"):
        credentials.load_or_make(path)
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
    external={"valkey": "somewhere:6379"},
    notes=("mind the gap",),
)


def test_the_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "platform.json"
    state.write(path, STATE)
    assert state.read(path) == STATE
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["platform.json"]


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"version": "2", "supervisor": 3}'])
def test_a_state_of_another_version_or_a_damaged_one_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "platform.json"
    path.write_text(text)
    assert state.read(path) is None
    assert state.read(tmp_path / "nothing") is None


def test_who_fails_three_times_before_all_were_ready_keeps_a_platform_from_coming_up() -> None:
    assert failed_child(STATE) is None
    broken = {**STATE.children, "api": replace(STATE.children["api"], failures=3)}
    assert failed_child(replace(STATE, children=broken)) == "api"
    assert failed_child(replace(STATE, children=broken, phase=Phase.UP)) is None, "then it is only started again"


def test_the_lock_is_that_of_one_process_until_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_held(path)
    program = (
        "import sys, pathlib; from weir_workers.embedded.lock import Lock; l = Lock(pathlib.Path(sys.argv[1])); "
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
    lock.give_back()


def test_a_process_is_known_by_its_number_and_its_beginning() -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        known = process_id(sleeper.pid)
        assert known.lives
        assert not ProcessId(sleeper.pid, "another time").lives
        ProcessId(sleeper.pid, "another time").signal(signal.SIGKILL)
        assert known.lives, "a signal to one that had its number before does not reach it"
        known.signal(signal.SIGKILL)
        while known.lives:
            pass
        assert began(sleeper.pid) is None, "it waits for its parent, and has ended"


def test_who_does_not_end_when_asked_is_killed() -> None:
    with subprocess.Popen(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"], stdout=subprocess.PIPE) as deaf:
        assert deaf.stdout is not None
        deaf.stdout.readline()
        known = process_id(deaf.pid)
        assert end_all([(known, signal.SIGTERM), (ProcessId(deaf.pid, "before"), signal.SIGTERM)], grace_s=0.2) == [known]
        assert not known.lives


def test_a_log_that_is_too_large_is_moved_away_under_its_writer(tmp_path: Path) -> None:
    log = tmp_path / "api.log"
    program = "import sys\nfor line in sys.stdin: print(line.strip(), flush=True); print('done', file=sys.stderr, flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=log.open("ab"), stderr=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdin is not None and writer.stderr is not None
        for line in ("first " * 20, "second"):
            print(line, file=writer.stdin, flush=True)
            assert writer.stderr.readline() == "done\n"
            keep_small([log, tmp_path / "not there"], size_bytes_max=100)
        writer.stdin.close()
    assert log.read_text() == "second\n", "not behind a hole of zeros"
    assert log.with_name("api.log.1").read_text().startswith("first first")
    assert log.with_name("api.log.1").stat().st_mode & 0o777 == 0o600


def test_a_child_gets_a_closed_log_that_it_appends_to_and_ends_with_its_parent(tmp_path: Path) -> None:
    program = (
        "import os, sys, pathlib; from weir_workers.embedded.children import spawn; "
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


def test_servers_of_the_environment_are_used_and_named_without_their_passwords(directory: DataDir) -> None:
    directory.make()
    found = prepare(directory, EXTERNAL, None)
    assert found.external == {"postgres": "db.example:5432", "valkey": "cache.example"}
    assert [service.child.name for service in found.services] == ["schema", "api", "worker", "compiler", "chores", "beat"]
    assert (found.ports.postgres, found.ports.valkey) == (None, None)


@pytest.mark.parametrize(
    ("variable", "url"),
    [("WEIR_DATABASE_URL", "mysql://me:secret@db/weir"), ("WEIR_DATABASE_URL", "secret"), ("WEIR_REDIS_URL", "redis:secret")],
)
def test_an_address_that_is_none_is_refused_and_not_repeated(directory: DataDir, variable: str, url: str) -> None:
    directory.make()
    with pytest.raises(ConfigError, match=f"{variable} is no address of a server") as refused:
        prepare(directory, {**EXTERNAL, variable: url}, None)
    assert "secret" not in str(refused.value)


def test_ports_are_kept_and_another_one_is_used_and_said_if_the_apis_is_taken(directory: DataDir) -> None:
    directory.make()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        before = replace(STATE, ports=Ports(api=port))
        other.listen()
        found = prepare(directory, EXTERNAL, before)
        assert found.ports.api not in (None, port)
        assert [note for note in found.notes if note.startswith(f"port {port} is taken by another program")]
    kept = prepare(directory, EXTERNAL, before)
    assert kept.ports.api == port and kept.url == f"http://127.0.0.1:{port}"
    assert [note for note in kept.notes if "port" in note] == []


def test_no_two_of_ours_are_given_one_port_even_if_they_were_before(directory: DataDir) -> None:
    directory.make()
    port = free_port()
    ports = prepare(directory, {}, replace(STATE, ports=Ports(postgres=port, valkey=port, api=port))).ports
    assert ports.api == port, "drivers look for it where it was"
    assert len({ports.api, ports.postgres, ports.valkey}) == 3


def test_data_of_another_major_version_of_postgres_is_not_touched(directory: DataDir) -> None:
    directory.make()
    directory.postgres.mkdir()
    (directory.postgres / "PG_VERSION").write_text("12\n")
    with pytest.raises(ConfigError, match="is Postgres 12's, and Postgres [0-9]+ is installed"):
        prepare(directory, {}, None)


def test_nothing_of_the_state_is_secret(directory: DataDir) -> None:
    directory.make()
    prepare(directory, EXTERNAL, None)
    secrets = json.loads(directory.secrets.read_text())
    state.write(directory.state, STATE)
    assert not [name for name, value in secrets.items() if str(value) in directory.state.read_text() and value is not False]


def test_who_no_longer_names_his_database_is_told_where_his_jobs_are(directory: DataDir) -> None:
    directory.make()
    before = replace(STATE, external={"postgres": "db.example:5432"})
    without = {"WEIR_REDIS_URL": EXTERNAL["WEIR_REDIS_URL"]}
    for _ in range(2):
        with pytest.raises(
            ConfigError, match="the database at db.example:5432, and all its jobs are there: set WEIR_DATABASE_URL"
        ):
            prepare(directory, without, before)
    # It has one of its own from an earlier time, too: which one is meant nobody can know.
    directory.postgres.mkdir()
    (directory.postgres / "PG_VERSION").write_text("12\n")
    with pytest.raises(ConfigError, match="is Postgres 12's"):
        prepare(directory, without, before)
    (directory.postgres / "PG_VERSION").unlink()
    directory.postgres.rmdir()
    assert [note for note in prepare(directory, EXTERNAL, before).notes if "the last time" in note] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user need not be told")
def test_root_is_told_that_the_code_of_jobs_runs_as_root(directory: DataDir) -> None:
    directory.make()
    assert [note for note in prepare(directory, EXTERNAL, None).notes if note.startswith("it runs as root, and so does the code")]
