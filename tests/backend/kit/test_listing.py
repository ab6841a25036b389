"""Pagination: the pages together are the complete list, at any depth."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from fastapi.testclient import TestClient
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.jobs import MadeRun, completed, new_run, numbered, triggered

from weir_backend.app import create_app
from weir_backend.kit import listing
from weir_backend.kit.database import Database
from weir_backend.link.service import KnownRun, store
from weir_backend.models import Checkpoint
from weir_backend.settings import Settings

CHECKPOINTS = 12


@pytest.fixture
def run(database: Database) -> MadeRun:
    """Checkpoints of two jobs: some have equal sort values, some have none."""
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
def test_pages_are_disjoint_and_complete(
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


@pytest.mark.parametrize("field", ["end_to_end_ms", "state_bytes", "completed_at"])
def test_rows_without_a_value_are_last_in_either_order(client: TestClient, login: Login, run: MadeRun, field: str) -> None:
    """One of the checkpoints is not completed, so it has no duration and no size."""
    for direction in ("ASC", "DESC"):
        asked = {"sort": json.dumps([field, direction]), "range": "[0,99]", "filter": json.dumps({"job_id": run.job_id})}
        found = [one[field] for one in client.get("/api/v1/checkpoints", params=asked, headers=login()).json()]
        assert found[-1] is None and found[:-1] == sorted(found[:-1], reverse=direction == "DESC")


def test_columns_that_are_never_null_are_sorted_in_index_order() -> None:
    plain, sparse = (str(listing.largest_first(one)) for one in (Checkpoint.number, Checkpoint.state_bytes))
    assert plain.endswith("number DESC") and sparse.endswith("state_bytes DESC NULLS LAST")


def test_a_long_list_is_read_by_ids(client: TestClient, login: Login, run: MadeRun) -> None:
    headers, seen, last = login(), [], 0
    while True:
        asked = {"sort": '["id","ASC"]', "range": "[0,4]", "filter": json.dumps({"after_id": last, "job_id": run.job_id})}
        found = client.get("/api/v1/checkpoints", params=asked, headers=headers).json()
        if not found:
            break
        seen += [one["number"] for one in found]
        last = found[-1]["id"]
    assert sorted(seen) == list(range(1, CHECKPOINTS + 2)) and len(set(seen)) == len(seen)
    before = client.get("/api/v1/checkpoints", params={"filter": json.dumps({"before_id": last})}, headers=headers).json()
    assert all(one["id"] < last for one in before) and len(before) == 2 * CHECKPOINTS + 1
    for odd in ({"after_id": "1"}, {"before_id": True}, {"after_id": 1 << 70}, {"before_id": None}):
        assert client.get("/api/v1/checkpoints", params={"filter": json.dumps(odd)}, headers=headers).status_code == 422


def test_a_too_deep_page_is_refused_with_a_hint_how_to_continue(client: TestClient, login: Login, run: MadeRun) -> None:
    headers = login()
    far = listing.FIRST_MAX
    assert client.get("/api/v1/events", params={"range": f"[{far},{far + 9}]"}, headers=headers).json() == []
    for first in (far + 1, (1 << 63) - 11):
        refused = client.get("/api/v1/events", params={"range": f"[{first},{first + 9}]"}, headers=headers)
        assert refused.status_code == 422 and refused.json()["code"] == "too-deep"
        assert "after_id" in refused.json()["next_step"]


def test_a_list_that_takes_too_long_is_refused_and_not_reported_as_an_outage(
    client: TestClient, login: Login, run: MadeRun, settings: Settings
) -> None:
    """The table is locked for longer than the statement timeout, as a stand-in for a large table."""
    headers = login()
    with (
        pytest.MonkeyPatch.context() as patched,
        psycopg.connect(settings.database_url.get_secret_value()) as locking,
    ):
        patched.setattr("weir_backend.kit.database.STATEMENT_TIMEOUT_MS", 300)
        locking.execute("LOCK TABLE checkpoints")
        with TestClient(create_app(settings, RecordedTasks()), raise_server_exceptions=False) as impatient:
            refused = impatient.get("/api/v1/checkpoints", headers=headers)
    assert refused.status_code == 422 and refused.json()["code"] == "query-timeout", refused.text
