"""The text preview of a plan."""

from __future__ import annotations

from typing import Any, cast

from weir.cli.client.schemas import JobRead, PlanRead
from weir.cli.commands.preview import preview_lines

JOB = cast(JobRead, {"id": 1, "name": "flights"})
PREVIEW: dict[str, Any] = {
    "checkpoint": 7, "completed_at": "2026-11-21T20:00:00Z", "age_s": 300.0, "state_bytes": 3 << 20, "is_savepoint": True,
    "path": None, "without_state": False, "stop_with": "Suspend", "steps": ["stop the job", "start it"],
    "restarted_operators": [], "warnings": ["the job is not running"], "sinks_with_duplicates": [], "inspection": None,
}  # fmt: skip
INSPECTION: dict[str, Any] = {
    "intact": True, "damage": None, "files": 1, "bytes": 1, "abandoned": [], "reinstated": [], "recommitted": [],
    "sources": [], "sinks": [], "notes": [], "incompatibility": None, "external_checkpoint": None,
}  # fmt: skip


def lines(**inspection: Any) -> str:
    plan = {"id": 3, "kind": "rollback", "preview": PREVIEW | {"inspection": INSPECTION | inspection}}
    return "\n".join(preview_lines(JOB, cast(PlanRead, plan)))


def test_the_preview_shows_the_restored_checkpoint() -> None:
    assert "restores savepoint 7; completed 2026-11-21 20:00:00 UTC, 5 min old; 3.0 MiB of state; verified" in lines()
    assert "warning: the job is not running" in lines() and "    2. start it" in lines()


def test_a_long_list_is_shortened_and_its_length_is_shown() -> None:
    out = lines(
        abandoned=list(range(8, 108)),
        sources=[{"source": "read", "splits": [{"id": f"f{number}", "payload": {}, "position": None} for number in range(9)]}],
    )
    assert "8, 9, 10" in out and "and 80 more (not deleted; an undo returns to the abandoned checkpoints)" in out
    assert "replays read: 9 unfinished splits" in out and "f0 from the beginning" in out and "and 4 more" in out


def test_control_characters_are_removed() -> None:
    out = lines(intact=False, damage="\x1b[2J", notes=["\x1b[31m"])
    assert "[2J" in out and "[31m" in out and "\x1b" not in out


def test_the_preview_shows_an_imported_checkpoint_or_a_start_without_state() -> None:
    external = {
        "job": "old flights",
        "checkpoint": 12,
        "completed_at": "2026-11-20T20:00:00Z",
        "state_bytes": 9,
        "is_savepoint": True,
    }
    sinks = [{"sink": "out", "kind": "parquet", "revocable": True}]

    def text(**preview: Any) -> str:
        inspection = INSPECTION | {"external_checkpoint": external if preview.get("path") else None, "sinks": sinks}
        plan = {"id": 3, "kind": "restore", "preview": PREVIEW | {"checkpoint": None, "inspection": inspection} | preview}
        return "\n".join(preview_lines(JOB, cast(PlanRead, plan)))

    out = text(path="/srv/old")
    assert "restores a copy of savepoint 12 of job 'old flights' in /srv/old; completed 2026-11-20 20:00:00 UTC; 9 B" in out
    assert "starts without state: all input is read again" in text(without_state=True)
    for shown in (out, text(without_state=True)):
        assert "revokes output in: out (an undo reinstates it)" in shown
    assert "revokes" not in text(), "the preview of an upgrade revokes no output"


def test_the_preview_shows_which_sinks_and_checkpoints_have_duplicate_output() -> None:
    sinks = [{"sink": "shown", "kind": "console", "revocable": False, "records": 41}]
    inspection = INSPECTION | {"abandoned": [8, 9], "recommitted": [7], "sinks": sinks}
    plan = {"id": 3, "kind": "rollback", "preview": PREVIEW | {"sinks_with_duplicates": ["shown"], "inspection": inspection}}
    out = "\n".join(preview_lines(JOB, cast(PlanRead, plan)))
    assert "cannot revoke output in: shown (readers can see records twice)" in out
    assert "output of checkpoints 8, 9, and output committed until the job stops" in out
    assert "output of checkpoint 7, if it was already published" in out and "shown: 41 records so far" in out


def test_incompatible_state_is_shown() -> None:
    assert "NOT COMPATIBLE: aggregate 'sums' is keyed by x" in lines(incompatibility="aggregate 'sums' is keyed by x")
