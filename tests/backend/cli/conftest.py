"""The command, called as people call it, at a platform whose workers and drivers are played by threads."""

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
from tests.backend.cli.worker import Worker
from tests.backend.conftest import Login, lent_app
from tests.backend.serving import served

from weir.cli.app import app
from weir_backend.kit.database import Database
from weir_backend.models import Role
from weir_backend.settings import Settings
from weir_workers.embedded.children import free_port


@dataclass(frozen=True, slots=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Terminal(io.StringIO):
    """Standard input with somebody in front of it."""

    def isatty(self) -> bool:
        return True


class Piped(io.TextIOWrapper):
    def __init__(self, text: str) -> None:
        super().__init__(io.BytesIO(text.encode()))


Weir = Callable[..., Said]
JobFile = Callable[..., str]


@pytest.fixture(autouse=True)
def silent_platform() -> Iterator[None]:
    """It is in our process here, and its log would be what the command has said."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    yield
    structlog.reset_defaults()


@pytest.fixture
def weir(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Weir:
    """``weir("status", "flights", answers="y\\n")``: ``answers`` are typed at a terminal, ``piped`` comes from another program."""
    for name in list(os.environ):
        if name.startswith("WEIR_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str, answers: str | None = None, piped: str = "") -> Said:
        monkeypatch.setattr(sys, "argv", ["weir", *arguments])
        monkeypatch.setattr(sys, "stdin", Terminal(answers) if answers is not None else Piped(piped))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app()
        said = capsys.readouterr()
        return Said(int(ended.value.code or 0), said.out, said.err)

    return call


@pytest.fixture
def worker(settings: Settings, database: Database) -> Iterator[Worker]:
    made = Worker(settings, database)
    with lent_app(settings, made) as app, served(app, free_port()) as url:
        made.start(url)
        yield made
        made.stop()


@pytest.fixture
def platform(worker: Worker, login: Login, weir: Weir, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """One that ``weir`` knows, with the token of somebody who may deploy and roll back."""
    monkeypatch.setenv("WEIR_API_URL", worker.url)
    monkeypatch.setenv("WEIR_TOKEN", token(login, Role.OPERATOR, rollback=True))
    return worker


def token(login: Login, role: Role, *, rollback: bool = False) -> str:
    return login(role, rollback=rollback)["Authorization"].removeprefix("Bearer ")


@pytest.fixture
def job_file(tmp_path: Path) -> JobFile:
    """A file of user code with these words in it."""

    def write(words: str = "", name: str = "flights.py") -> str:
        path = tmp_path / name
        path.write_text(f"# {words}\ndef job(params): ...\n")
        return str(path)

    return write


@pytest.fixture
def flights(platform: Worker, weir: Weir, job_file: JobFile) -> Worker:
    """The platform, with a job of that name that runs and has completed checkpoint 1."""
    said = weir("deploy", job_file(), "--name", "flights", "--wait")
    assert said.code == 0, said.err
    assert weir("wait", "flights", "--checkpoint", "--timeout", "20s").code == 0
    return platform
