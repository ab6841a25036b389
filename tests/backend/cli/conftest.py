"""Runs the command `weir` against a real API. The workers and drivers are fakes in threads."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog
from tests.backend.cli.fake_worker import Worker
from tests.backend.conftest import Login, shared_app
from tests.backend.serving import served

from weir.cli.app import app
from weir_backend.kit.database import Database
from weir_backend.models import Role
from weir_backend.settings import Settings
from weir_workers.embedded.ports import free_port


@dataclass(frozen=True, slots=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Terminal(io.StringIO):
    """A standard input that simulates a terminal."""

    def isatty(self) -> bool:
        return True


class Pipe(io.TextIOWrapper):
    def __init__(self, text: str) -> None:
        super().__init__(io.BytesIO(text.encode()))


Weir = Callable[..., Result]
JobFile = Callable[..., str]


@pytest.fixture(autouse=True)
def silent_api() -> Iterator[None]:
    """Silence the log of the API. The API runs in this process, so its log would mix with the output of the command."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    yield
    structlog.reset_defaults()


@pytest.fixture
def weir(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Weir:
    """Return a function that runs a command, such as ``weir("delete", "flights", answers="y\\n")``.

    ``answers`` is the input at a terminal. Without ``answers``, standard input is a pipe that contains ``piped``.
    """
    for name in list(os.environ):
        if name.startswith("WEIR_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str, answers: str | None = None, piped: str = "") -> Result:
        monkeypatch.setattr(sys, "argv", ["weir", *arguments])
        monkeypatch.setattr(sys, "stdin", Terminal(answers) if answers is not None else Pipe(piped))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app()
        printed = capsys.readouterr()
        return Result(int(ended.value.code or 0), printed.out, printed.err)

    return call


@pytest.fixture
def worker(settings: Settings, database: Database) -> Iterator[Worker]:
    made = Worker(settings, database)
    with shared_app(settings, made) as app, served(app, free_port()) as url:
        made.app = app
        made.start(url)
        yield made
        made.stop()


@pytest.fixture
def platform(worker: Worker, login: Login, weir: Weir, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """Configure the address of the platform, and a token with the permissions to deploy and to roll back."""
    monkeypatch.setenv("WEIR_API_URL", worker.url)
    monkeypatch.setenv("WEIR_TOKEN", token(login, Role.OPERATOR, rollback=True))
    return worker


def token(login: Login, role: Role, *, rollback: bool = False) -> str:
    return login(role, rollback=rollback)["Authorization"].removeprefix("Bearer ")


@pytest.fixture
def job_file(tmp_path: Path) -> JobFile:
    """Return a function that writes a file of user code. The ``words`` in the file control the fake worker and driver."""

    def write(words: str = "", name: str = "flights.py") -> str:
        path = tmp_path / name
        path.write_text(f"# {words}\ndef job(params): ...\n")
        return str(path)

    return write


@pytest.fixture
def flights(platform: Worker, weir: Weir, job_file: JobFile) -> Worker:
    """Deploy the job 'flights', and wait until it has completed checkpoint 1."""
    result = weir("deploy", job_file(), "--name", "flights", "--wait")
    assert result.code == 0, result.err
    assert weir("wait", "flights", "--checkpoint", "--timeout", "20s").code == 0
    return platform
