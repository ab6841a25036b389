"""Logging in and out, and tokens for programs."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
import typer
from tests.backend.auth.conftest import cheap_hashes
from tests.backend.auth.people import PASSWORD, person
from tests.backend.cli.conftest import Weir
from tests.backend.cli.worker import Worker

from weir_backend.kit.access import permissions_of
from weir_backend.kit.database import Database
from weir_backend.models import Role

pytestmark = pytest.mark.timeout(60)
__all__ = ["cheap_hashes"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".config" / "weir" / "credentials.json"


@pytest.fixture
def alice(worker: Worker, database: Database) -> Worker:
    person(database, role=Role.OPERATOR)
    return worker


def log_in(weir: Weir, worker: Worker) -> None:
    said = weir("login", "--url", worker.url, "--name", "alice", "--password-stdin", piped=PASSWORD + "\n")
    assert said.code == 0, said.err


def test_who_logs_in_needs_no_variables(alice: Worker, weir: Weir, file: Path) -> None:
    said = weir("login", "--url", alice.url + "/", "--name", "alice", "--password-stdin", piped=PASSWORD)
    assert said.code == 0 and f"logged in at {alice.url} as alice (operator) until " in said.out
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    kept = json.loads(file.read_text())
    assert kept["url"] == alice.url and kept["token"] not in said.out + said.err
    assert weir("jobs").code == 0
    assert [one.name for one in file.parent.iterdir()] == ["credentials.json"]


def test_programs_are_told_who_is_logged_in_where_and_until_when_but_not_the_token(alice: Worker, weir: Weir, file: Path) -> None:
    said = weir("login", "--url", alice.url, "--name", "alice", "--password-stdin", "--output", "json", piped=PASSWORD)
    assert said.code == 0 and said.err == ""
    kept = json.loads(file.read_text())
    assert kept["token"] not in said.out
    assert said.json == {
        "url": alice.url,
        "name": "alice",
        "role": "operator",
        "permissions": sorted(permissions_of(Role.OPERATOR, rollback=False)),
        "expires_at": kept["expires_at"],
        "credentials_file": str(file),
    }
    said = weir("logout", "-o", "json")
    assert (said.code, said.json) == (0, {"logged_out": alice.url})
    said = weir("logout", "-o", "json")
    assert said.code == 2 and said.out == "" and said.err.startswith("weir: ")


def test_the_password_is_asked_for_at_a_terminal(alice: Worker, weir: Weir, monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    asked: list[str] = []

    def prompt(what: str, *, hide_input: bool, err: bool) -> str:
        asked.append(f"{what} {'hidden' if hide_input else 'shown'}")
        return PASSWORD if hide_input else "alice"

    monkeypatch.setattr(typer, "prompt", prompt)
    assert weir("login", "--url", alice.url, answers="").code == 0
    assert asked == ["Name shown", f"Password of alice at {alice.url} hidden"]
    asked.clear()
    assert weir("login", answers="").code == 0, "where and who are those of the last time"
    assert asked == [f"Password of alice at {alice.url} hidden"]


def test_a_wrong_password_is_refused_and_nothing_is_kept(alice: Worker, weir: Weir, file: Path) -> None:
    said = weir("login", "--url", alice.url, "--name", "alice", "--password-stdin", piped="wrong, as it happens")
    assert said.code == 7 and said.out == "" and not file.exists() and "wrong, as" not in said.err


def test_without_a_terminal_nothing_is_asked(alice: Worker, weir: Weir) -> None:
    assert "who are you? Add --name" in weir("login", "--url", alice.url).err
    assert "give it with --password-stdin" in weir("login", "--url", alice.url, "--name", "alice").err
    said = weir("login", "--url", alice.url, "--name", "alice", "--password-stdin")
    assert said.code == 2 and "nothing came from standard input" in said.err
    said = weir("login", "--name", "alice")
    assert said.code == 2 and "which platform? Give its address with --url" in said.err


def test_a_password_over_an_open_line_is_warned_of(weir: Weir) -> None:
    said = weir("login", "--url", "http://weir.example", "--name", "alice")
    assert said.code == 2 and "warning: http://weir.example is not encrypted" in said.err


def test_who_logs_out_is_forgotten_here_and_there(alice: Worker, weir: Weir, file: Path) -> None:
    log_in(weir, alice)
    token = json.loads(file.read_text())["token"]
    assert weir("logout").out == f"logged out of {alice.url}\n"
    assert not file.exists() and weir("jobs").code == 2 and weir("logout").code == 2
    file.write_text(json.dumps({"url": alice.url, "token": token}))
    said = weir("jobs")
    assert said.code == 7 and "weir login" in said.err
    assert weir("logout").code == 0, "a token that is not valid any more is forgotten all the same"


def test_a_damaged_file_is_told_and_written_anew(alice: Worker, weir: Weir, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("{")
    said = weir("jobs")
    assert said.code == 2 and f"{file} is damaged: remove it and weir login again" in said.err
    log_in(weir, alice)
    assert weir("jobs").code == 0


def test_a_kept_token_goes_only_to_where_it_comes_from(alice: Worker, weir: Weir, monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(weir, alice)
    monkeypatch.setenv("WEIR_API_URL", alice.url)
    assert weir("jobs").code == 0
    monkeypatch.setenv("WEIR_API_URL", "http://127.0.0.1:1")
    said = weir("jobs")
    assert said.code == 2 and "there is no token for it" in said.err


def test_a_token_is_made_used_and_revoked(alice: Worker, weir: Weir, monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(weir, alice)
    said = weir("tokens", "create", "--name", "deployments from CI", "--days", "7")
    assert said.code == 0 and said.out.startswith("weir_") and len(said.out.split()) == 1, "nothing else: it can be piped"
    assert "(operator), valid until" in said.err
    monkeypatch.setenv("WEIR_API_URL", alice.url)
    monkeypatch.setenv("WEIR_TOKEN", said.out.strip())
    assert weir("jobs").code == 0
    listed = weir("tokens", "list", "-o", "json").json
    made = next(one for one in listed if one["name"] == "deployments from CI")
    assert "token" not in made and "deployments from CI" in weir("tokens", "list").out
    assert weir("tokens", "revoke", str(made["id"])).code == 0
    assert weir("jobs").code == 7


def test_nobody_makes_a_token_that_may_more_than_he(alice: Worker, weir: Weir) -> None:
    log_in(weir, alice)
    said = weir("tokens", "create", "--name", "x", "--rollback")
    assert said.code == 7 and said.out == ""
    assert weir("tokens", "revoke", "999").code == 2
