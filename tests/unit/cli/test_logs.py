"""Log messages on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
import structlog
from tests.unit.cli.fakes import BrokenStream

from weir.cli.logs import LogFormat, print_error, print_message, set_up_logs


@pytest.fixture(autouse=True)
def _configuration() -> Iterator[None]:
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize("form", list(LogFormat))
def test_logging_to_a_broken_stream_does_not_raise(form: LogFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", BrokenStream())
    set_up_logs(form, verbose=False)
    structlog.get_logger("coordinator").warning("failure, recovering", reason="slot 1 was lost")
    print_message("stopping")
    print_error("no such file")


def test_every_log_message_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs(LogFormat.JSON, verbose=False)
    structlog.get_logger("coordinator").warning("failure, recovering")
    print_message("stopping")
    assert [line.count('"event"') for line in capsys.readouterr().err.splitlines()] == [1, 1]
