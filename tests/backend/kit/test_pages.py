"""Pages of a list: together they are the list, however deep they lie."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.jobs import MadeRun, completed, new_run, numbered, triggered

from weir_backend.kit import listing
from weir_backend.kit.database import Database
from weir_backend.link.service import KnownRun, store

CHECKPOINTS = 12


@pytest.fixture
def run(database: Database) -> MadeRun:
    """With checkpoints of two jobs: some alike in what they are sorted by, some without it."""
    found = new_run(database)
    for one, first in ((new_run(database), 50), (found, 1)):
        told = [event for number in range(first, first + CHECKPOINTS) for event in (triggered(number), completed(number))]
        with database.session() as session:
            known = KnownRun(one.id, one.job_id, False, 0, None)
            store(session, RecordedTasks(), known, numbered([*told, triggered(first + CHECKPOINTS)]), oldest=1)
    return found


@pytest.mark.parametrize("deep", [0, 4, 1_000], ids=["all are deep", "some are", "none is"])
@pytest.mark.parametrize("sort", [["id", "DESC"], ["state_bytes", "ASC"], ["completed_at", "DESC"]], ids=lambda sort: sort[0])
@pytest.mark.parametrize("of_job", [True, False])
def test_pages_overlap_nowhere_and_leave_nothing_out(
    client: TestClient, login: Login, run: MadeRun, monkeypatch: pytest.MonkeyPatch, deep: int, sort: list[str], of_job: bool
) -> None:
    headers = login()

    def page(first: int, last: int) -> list[dict[str, Any]]:
        asked = {
            "sort": json.dumps(sort),
            "range": f"[{first},{last}]",
            "filter": json.dumps({"job_id": run.job_id} if of_job else {}),
        }
        answer = client.get("/api/v1/checkpoints", params=asked, headers=headers)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()
        assert answer.headers["content-range"] == f"checkpoints {f'{first}-{first + len(found) - 1}' if found else '*'}/{total}"
        return found

    total = (1 if of_job else 2) * (CHECKPOINTS + 1)
    whole = page(0, 99)
    monkeypatch.setattr(listing, "DEEP", deep)
    assert len(whole) == total
    assert [one for first in range(0, total + 3, 3) for one in page(first, first + 2)] == whole
