from __future__ import annotations

import pytest
import structlog

from weir.subtask.settings import LogSettings, configure_logs


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
