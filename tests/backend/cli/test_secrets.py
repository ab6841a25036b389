"""The commands that manage the secrets of the platform. No output contains a value."""

from __future__ import annotations

import pytest
import typer
from tests.backend.cli.conftest import JobFile, Weir, token
from tests.backend.cli.fake_worker import Worker
from tests.backend.conftest import Login

from weir_backend.kit.database import Database
from weir_backend.models import Role
from weir_backend.secrets.service import provide
from weir_backend.settings import Settings

pytestmark = pytest.mark.timeout(300)
VALUE = "planted-7c2d"


@pytest.fixture
def admin(platform: Worker, login: Login, monkeypatch: pytest.MonkeyPatch) -> Worker:
    monkeypatch.setenv("WEIR_TOKEN", token(login, Role.ADMIN))
    return platform


def value_of(database: Database, settings: Settings, name: str) -> str | None:
    with database.session() as session:
        return provide(session, settings, {"A": f"secret:{name}"}).values.get(name)


def test_a_secret_is_set_from_standard_input_listed_replaced_and_deleted(
    admin: Worker, weir: Weir, database: Database, settings: Settings
) -> None:
    assert weir("secret", "list").out == "No secrets yet. Create a secret with weir secret set NAME.\n"
    results = [
        weir("secret", "set", "kafka", "--description", "user orders", piped=f"{VALUE}\n"),
        weir("secret", "set", "kafka-2", "-o", "json", piped=f"{VALUE}-2"),
        weir("secret", "list"),
        weir("secret", "list", "-o", "json"),
    ]
    assert [one.code for one in results] == [0] * 4, [one.err for one in results]
    assert results[0].out == "Created secret 'kafka'. Use it in a job: --set PARAMETER=secret:kafka\n"
    assert [one["name"] for one in results[3].json] == ["kafka", "kafka-2"]
    assert "user orders" in results[2].out and VALUE not in str(results)
    assert value_of(database, settings, "kafka") == VALUE

    replaced = weir("secret", "set", "kafka", piped="new value")
    assert replaced.out == "Replaced the value of secret 'kafka'. Jobs use it when they start the next time.\n"
    assert value_of(database, settings, "kafka") == "new value" and value_of(database, settings, "kafka-2") == f"{VALUE}-2"
    assert weir("secret", "list", "-o", "json").json[0]["description"] == "user orders"
    assert weir("secret", "delete", "kafka", "--yes").out == "Deleted secret 'kafka'.\n"
    missing = weir("secret", "delete", "kafka", "--yes")
    assert missing.code == 2 and "No secret 'kafka' at" in missing.err


def test_the_value_is_asked_for_at_a_terminal(
    admin: Worker, weir: Weir, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, object]] = []

    def prompt(what: str, **options: object) -> str:
        asked.append((what, options["hide_input"]))
        return VALUE

    monkeypatch.setattr(typer, "prompt", prompt)
    result = weir("secret", "set", "kafka", answers="")
    assert result.code == 0 and VALUE not in result.out + result.err and asked == [("Value of kafka", True)]
    assert value_of(database, settings, "kafka") == VALUE

    def abort(*_: object, **__: object) -> str:
        raise typer.Abort

    monkeypatch.setattr(typer, "prompt", abort)
    result = weir("secret", "set", "kafka", answers="")
    assert result.err == "weir: Canceled. Secret 'kafka' was not changed.\n"


@pytest.mark.parametrize(
    ("name", "piped", "message"),
    [
        ("a b", VALUE, "'a b' is not a valid name of a secret. Use letters, digits and . _ - without spaces."),
        ("kafka", "\n", "weir secret set: standard input is empty."),
        ("kafka", VALUE * 5_000, "weir secret set: standard input is larger than 32 KiB."),
    ],
)
def test_an_invalid_name_or_value_is_refused(admin: Worker, weir: Weir, name: str, piped: str, message: str) -> None:
    result = weir("secret", "set", name, piped=piped)
    assert (result.code, result.err) == (2, f"weir: {message}\n")


def test_the_value_cannot_be_an_argument(admin: Worker, weir: Weir) -> None:
    assert weir("secret", "set", "kafka", "planted").code == 2
    assert weir("secret", "list", "-o", "json").json == []


def test_a_secret_that_a_job_uses_is_not_deleted_and_the_error_names_the_job(
    admin: Worker, weir: Weir, job_file: JobFile
) -> None:
    assert weir("secret", "set", "kafka", piped=VALUE).code == 0
    assert weir("deploy", job_file(), "--name", "orders", "--set", "BROKER=secret:kafka").code == 0
    refused = weir("secret", "delete", "kafka", "--yes")
    assert refused.code == 2 and "refer to secret 'kafka': 'orders'. Change or delete these jobs first." in refused.err


def test_an_operator_cannot_manage_secrets(platform: Worker, weir: Weir) -> None:
    for arguments in (("set", "kafka"), ("list",), ("delete", "kafka", "--yes")):
        result = weir("secret", *arguments, piped=VALUE)
        assert result.code != 0 and "the permission 'administer'" in result.err
