"""A plan in words."""

from __future__ import annotations

from typing import Any, cast

from weir.cli.remote.preview import preview_of
from weir.cli.remote.shapes import Job, Plan

JOB = cast(Job, {"id": 1, "name": "flights"})
PREVIEW: dict[str, Any] = {
    "checkpoint": 7, "completed_at": "2026-11-21T20:00:00Z", "age_s": 300.0, "state_bytes": 3 << 20, "is_savepoint": True,
    "origin": None, "anew": False, "stop_with": "Suspend", "steps": ["stop the job", "start it"], "restarts": [], "warnings": ["it does not run now"],
    "duplicates": [], "inspection": None,
}  # fmt: skip
INSPECTION: dict[str, Any] = {
    "whole": True, "damage": None, "files": 1, "bytes": 1, "abandoned": [], "returning": [], "again": [], "sources": [], "sinks": [], "notes": [],
    "misfit": None, "origin": None,
}  # fmt: skip


def lines(**inspection: Any) -> str:
    plan = {"id": 3, "kind": "rollback", "preview": PREVIEW | {"inspection": INSPECTION | inspection}}
    return "\n".join(preview_of(JOB, cast(Plan, plan)))


def test_where_it_goes_on_from() -> None:
    assert "goes on from savepoint 7; completed 2026-11-21 20:00:00 UTC, 5 min old; 3.0 MiB of state; verified" in lines()
    assert "warning: it does not run now" in lines() and "    2. start it" in lines()


def test_long_lists_are_cut_and_say_so() -> None:
    out = lines(
        abandoned=list(range(8, 108)),
        sources=[{"source": "read", "splits": [{"id": f"f{number}", "payload": {}, "position": None} for number in range(9)]}],
    )
    assert "8, 9, 10" in out and "and 80 more (none is deleted; undo returns to them)" in out
    assert "reads again from read: 9 unfinished splits" in out and "f0 from its beginning" in out and "and 4 more" in out


def test_what_it_holds_cannot_move_the_terminal() -> None:
    assert "\x1b" not in lines(whole=False, damage="\x1b[2J", notes=["\x1b[31m"])


def test_a_checkpoint_from_elsewhere_and_no_checkpoint_at_all_are_said_as_such() -> None:
    origin = {
        "job": "old flights",
        "checkpoint": 12,
        "completed_at": "2026-11-20T20:00:00Z",
        "state_bytes": 9,
        "is_savepoint": True,
    }
    sinks = [{"sink": "out", "kind": "parquet", "revocable": True}]

    def told(**preview: Any) -> str:
        inspection = INSPECTION | {"origin": origin if preview.get("origin") else None, "sinks": sinks}
        plan = {"id": 3, "kind": "restore", "preview": PREVIEW | {"checkpoint": None, "inspection": inspection} | preview}
        return "\n".join(preview_of(JOB, cast(Plan, plan)))

    out = told(origin="/srv/old")
    assert "goes on from a copy of savepoint 12 of job 'old flights' in /srv/old; completed 2026-11-20 20:00:00 UTC; 9 B" in out
    assert "begins anew, without any state: all input is read again" in told(anew=True)
    for shown in (out, told(anew=True)):
        assert "taken back from readers (an undo brings it back): out" in shown
    assert "taken back" not in told(), "an upgrade takes nothing back"


def test_what_readers_of_a_sink_see_twice_is_said_by_checkpoint_and_number_of_records() -> None:
    sinks = [{"sink": "shown", "kind": "console", "revocable": False, "records": 41}]
    inspection = INSPECTION | {"abandoned": [8, 9], "again": [7], "sinks": sinks}
    plan = {"id": 3, "kind": "rollback", "preview": PREVIEW | {"duplicates": ["shown"], "inspection": inspection}}
    out = "\n".join(preview_of(JOB, cast(Plan, plan)))
    assert "readers will see these records twice: shown" in out
    assert "what was committed with checkpoints 8, 9, and what is until the job is stopped" in out
    assert "what was committed with checkpoint 7, as nobody knows" in out and "of shown: 41 records by now" in out


def test_state_that_does_not_fit_is_shown_by_name() -> None:
    assert "DOES NOT FIT: aggregate 'sums' is keyed by x" in lines(misfit="aggregate 'sums' is keyed by x")
