"""What a process that runs a job says, whether somebody reads it or not."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
import structlog
from tests.unit.cli.running import NobodyListens

from weir.cli.logs import LogFormat, complain, set_up, tell


@pytest.fixture(autouse=True)
def _configuration() -> Iterator[None]:
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize("form", list(LogFormat))
def test_a_loop_that_logs_goes_on_though_nobody_reads_it(form: LogFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", NobodyListens())
    set_up(form, verbose=False)
    structlog.get_logger("coordinator").warning("failure, recovering", reason="slot 1 was lost")
    tell("stopping")
    complain("no such file")


def test_whoever_reads_it_gets_every_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up(LogFormat.JSON, verbose=False)
    structlog.get_logger("coordinator").warning("failure, recovering")
    tell("stopping")
    assert [line.count('"event"') for line in capsys.readouterr().err.splitlines()] == [1, 1]
