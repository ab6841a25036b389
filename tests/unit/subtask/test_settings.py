from __future__ import annotations

import io
import json
import sys

import pytest
import structlog

from weir.subtask.settings import LogSettings, configure_driver_logs, configure_logs


@pytest.mark.parametrize("as_json", [False, True])
def test_a_logged_exception_does_not_show_values_of_local_variables(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(LogSettings(as_json=as_json))
    try:
        storage_options = {"secret_access_key": "hush-hush"}
        try:
            raise OSError(f"no response for {len(storage_options)} options")
        except OSError:
            structlog.get_logger("weir").exception("commit failed")
    finally:
        structlog.reset_defaults()
    output = capsys.readouterr().err
    assert "commit failed" in output
    assert "no response for 1 options" in output
    assert "hush-hush" not in output


def test_each_line_of_a_log_is_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the end of the line was a second write, the lines of processes with the same standard error could be joined."""
    written: list[str] = []
    stream = io.StringIO()
    monkeypatch.setattr(stream, "write", written.append)
    monkeypatch.setattr(sys, "stderr", stream)
    try:
        for configure in (configure_logs, configure_driver_logs):
            configure(LogSettings(as_json=True))
            structlog.get_logger().warning("slot dropped")
    finally:
        structlog.reset_defaults()
    assert [line.endswith("}\n") and json.loads(line)["event"] for line in written] == ["slot dropped"] * 2
