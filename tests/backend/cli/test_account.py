"""Login, logout and API tokens."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
import typer
from tests.backend.auth.conftest import cheap_hashes
from tests.backend.auth.users import PASSWORD, create_user
from tests.backend.cli.conftest import Weir
from tests.backend.cli.fake_worker import Worker

from weir_backend.kit.access import permissions_of
from weir_backend.kit.database import Database
from weir_backend.models import Role

pytestmark = pytest.mark.timeout(300)
__all__ = ["cheap_hashes"]


@pytest.fixture
def credentials_file(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".config" / "weir" / "credentials.json"


@pytest.fixture
def alice(worker: Worker, database: Database) -> Worker:
    create_user(database, role=Role.OPERATOR)
    return worker


def log_in(weir: Weir, worker: Worker) -> None:
    result = weir("login", "--url", worker.url, "--name", "alice", "--password-stdin", piped=PASSWORD + "\n")
    assert result.code == 0, result.err


def test_commands_need_no_environment_variables_after_a_login(alice: Worker, weir: Weir, credentials_file: Path) -> None:
    result = weir("login", "--url", alice.url + "/", "--name", "alice", "--password-stdin", piped=PASSWORD)
    assert result.code == 0 and f"Logged in to {alice.url} as alice (operator) until " in result.out
    assert (
        stat.S_IMODE(credentials_file.stat().st_mode) == 0o600 and stat.S_IMODE(credentials_file.parent.stat().st_mode) == 0o700
    )
    saved = json.loads(credentials_file.read_text())
    assert saved["url"] == alice.url and saved["token"] not in result.out + result.err
    assert weir("jobs").code == 0
    assert [one.name for one in credentials_file.parent.iterdir()] == ["credentials.json"]


def test_login_prints_the_user_and_the_expiry_as_json_but_not_the_token(
    alice: Worker, weir: Weir, credentials_file: Path
) -> None:
    result = weir("login", "--url", alice.url, "--name", "alice", "--password-stdin", "--output", "json", piped=PASSWORD)
    assert result.code == 0 and result.err == ""
    saved = json.loads(credentials_file.read_text())
    assert saved["token"] not in result.out
    assert result.json == {
        "url": alice.url,
        "name": "alice",
        "role": "operator",
        "permissions": sorted(permissions_of(Role.OPERATOR, rollback=False)),
        "expires_at": saved["expires_at"],
        "credentials_file": str(credentials_file),
    }
    result = weir("logout", "-o", "json")
    assert (result.code, result.json) == (0, {"logged_out": alice.url})
    result = weir("logout", "-o", "json")
    assert result.code == 2 and result.out == "" and result.err.startswith("weir: ")


def test_the_command_login_asks_for_name_and_password(
    alice: Worker, weir: Weir, monkeypatch: pytest.MonkeyPatch, credentials_file: Path
) -> None:
    prompts: list[str] = []

    def prompt(what: str, *, hide_input: bool, err: bool) -> str:
        prompts.append(f"{what} {'hidden' if hide_input else 'shown'}")
        return PASSWORD if hide_input else "alice"

    monkeypatch.setattr(typer, "prompt", prompt)
    assert weir("login", "--url", alice.url, answers="").code == 0
    assert prompts == ["Name shown", f"Password of alice at {alice.url} hidden"]
    prompts.clear()
    assert weir("login", answers="").code == 0, "login uses the address and the name of the last login"
    assert prompts == [f"Password of alice at {alice.url} hidden"]


def test_a_login_with_a_wrong_password_saves_no_credentials(alice: Worker, weir: Weir, credentials_file: Path) -> None:
    result = weir("login", "--url", alice.url, "--name", "alice", "--password-stdin", piped="an incorrect secret")
    assert result.code == 7 and result.out == "" and not credentials_file.exists() and "an incorrect secret" not in result.err


def test_login_does_not_prompt_without_a_terminal(alice: Worker, weir: Weir) -> None:
    assert "The user name is missing. Add --name" in weir("login", "--url", alice.url).err
    assert "Use --password-stdin" in weir("login", "--url", alice.url, "--name", "alice").err
    result = weir("login", "--url", alice.url, "--name", "alice", "--password-stdin")
    assert result.code == 2 and "standard input is empty" in result.err
    result = weir("login", "--name", "alice")
    assert result.code == 2 and "The address of the platform is missing. Add --url" in result.err


def test_login_at_an_unencrypted_address_prints_a_warning(weir: Weir) -> None:
    result = weir("login", "--url", "http://weir.example", "--name", "alice")
    assert result.code == 2 and "warning: http://weir.example is not encrypted" in result.err


def test_logout_revokes_and_deletes_the_token(alice: Worker, weir: Weir, credentials_file: Path) -> None:
    log_in(weir, alice)
    token = json.loads(credentials_file.read_text())["token"]
    assert weir("logout").out == f"Logged out of {alice.url}.\n"
    assert not credentials_file.exists() and weir("jobs").code == 2 and weir("logout").code == 2
    credentials_file.write_text(json.dumps({"url": alice.url, "token": token}))
    result = weir("jobs")
    assert result.code == 7 and "weir login" in result.err
    assert weir("logout").code == 0, "logout also deletes an invalid token"


def test_a_login_overwrites_a_damaged_credentials_file(alice: Worker, weir: Weir, credentials_file: Path) -> None:
    credentials_file.parent.mkdir(parents=True)
    credentials_file.write_text("{")
    result = weir("jobs")
    assert result.code == 2 and f"{credentials_file} is damaged. Delete this file and run weir login." in result.err
    log_in(weir, alice)
    assert weir("jobs").code == 0


def test_a_saved_token_is_sent_only_to_the_address_that_issued_it(
    alice: Worker, weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in(weir, alice)
    monkeypatch.setenv("WEIR_API_URL", alice.url)
    assert weir("jobs").code == 0
    monkeypatch.setenv("WEIR_API_URL", "http://127.0.0.1:1")
    result = weir("jobs")
    assert result.code == 2 and "no token for this address is saved" in result.err


def test_a_created_token_works_until_it_is_revoked(alice: Worker, weir: Weir, monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(weir, alice)
    result = weir("tokens", "create", "--name", "deployments from CI", "--days", "7")
    assert result.code == 0 and result.out.startswith("weir_") and len(result.out.split()) == 1, (
        "standard output contains only the token"
    )
    assert "(operator), valid until" in result.err
    monkeypatch.setenv("WEIR_API_URL", alice.url)
    monkeypatch.setenv("WEIR_TOKEN", result.out.strip())
    assert weir("jobs").code == 0
    listed = weir("tokens", "list", "-o", "json").json
    created = next(one for one in listed if one["name"] == "deployments from CI")
    assert "token" not in created and "deployments from CI" in weir("tokens", "list").out
    assert weir("tokens", "revoke", str(created["id"])).code == 0
    assert weir("jobs").code == 7


def test_a_token_cannot_have_more_permissions_than_its_creator(alice: Worker, weir: Weir) -> None:
    log_in(weir, alice)
    result = weir("tokens", "create", "--name", "x", "--rollback")
    assert result.code == 7 and result.out == ""
    assert weir("tokens", "revoke", "999").code == 2
