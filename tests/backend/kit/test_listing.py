"""The pages of a long list together contain each row exactly once. For offsets of ``listing.DEEP`` and more, the
API uses a different query."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from fastapi.testclient import TestClient
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.jobs import RunHandle, completed, new_run, numbered, triggered

from weir_backend.app import create_app
from weir_backend.kit import listing
from weir_backend.kit.database import Database
from weir_backend.link.service import KnownRun, store
from weir_backend.models import Checkpoint
from weir_backend.settings import Settings

CHECKPOINTS = 12


@pytest.fixture
def run(database: Database) -> RunHandle:
    """Create checkpoints of two jobs and return the run of one job. Some checkpoints have equal sort values, and other
    checkpoints have no sort value."""
    found = new_run(database)
    for one, first in ((new_run(database), 50), (found, 1)):
        events = [event for number in range(first, first + CHECKPOINTS) for event in (triggered(number), completed(number))]
        with database.session() as session:
            known = KnownRun(one.id, one.job_id, False, 0, None)
            store(session, RecordedTasks(), known, numbered([*events, triggered(first + CHECKPOINTS)]), oldest=1)
    return found


@pytest.mark.parametrize("deep", [0, 4, 1_000], ids=["all pages are deep", "some pages are deep", "no page is deep"])
@pytest.mark.parametrize("sort", [["id", "DESC"], ["state_bytes", "ASC"], ["completed_at", "DESC"]], ids=lambda sort: sort[0])
@pytest.mark.parametrize("of_job", [True, False])
def test_pages_are_disjoint_and_complete(
    client: TestClient, login: Login, run: RunHandle, monkeypatch: pytest.MonkeyPatch, deep: int, sort: list[str], of_job: bool
) -> None:
    headers = login()

    def page(first: int, last: int) -> list[dict[str, Any]]:
        query = {
            "sort": json.dumps(sort),
            "range": f"[{first},{last}]",
            "filter": json.dumps({"job_id": run.job_id} if of_job else {}),
        }
        answer = client.get("/api/v1/checkpoints", params=query, headers=headers)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()
        assert answer.headers["content-range"] == f"checkpoints {f'{first}-{first + len(found) - 1}' if found else '*'}/{total}"
        return found

    total = (1 if of_job else 2) * (CHECKPOINTS + 1)
    all_rows = page(0, 99)
    monkeypatch.setattr(listing, "DEEP", deep)
    assert len(all_rows) == total
    assert [one for first in range(0, total + 3, 3) for one in page(first, first + 2)] == all_rows


@pytest.mark.parametrize("field", ["end_to_end_ms", "state_bytes", "completed_at"])
def test_rows_without_a_sort_value_are_last_in_both_sort_directions(
    client: TestClient, login: Login, run: RunHandle, field: str
) -> None:
    """One checkpoint is not completed, so it has no duration and no size."""
    for direction in ("ASC", "DESC"):
        query = {"sort": json.dumps([field, direction]), "range": "[0,99]", "filter": json.dumps({"job_id": run.job_id})}
        found = [one[field] for one in client.get("/api/v1/checkpoints", params=query, headers=login()).json()]
        assert found[-1] is None and found[:-1] == sorted(found[:-1], reverse=direction == "DESC")


def test_only_nullable_columns_are_sorted_with_nulls_last() -> None:
    plain, sparse = (str(listing.largest_first(one)) for one in (Checkpoint.number, Checkpoint.state_bytes))
    assert plain.endswith("number DESC") and sparse.endswith("state_bytes DESC NULLS LAST")


def test_a_long_list_can_be_read_page_by_page_with_the_id_filters(client: TestClient, login: Login, run: RunHandle) -> None:
    headers, seen, last = login(), [], 0
    while True:
        query = {"sort": '["id","ASC"]', "range": "[0,4]", "filter": json.dumps({"after_id": last, "job_id": run.job_id})}
        found = client.get("/api/v1/checkpoints", params=query, headers=headers).json()
        if not found:
            break
        seen += [one["number"] for one in found]
        last = found[-1]["id"]
    assert sorted(seen) == list(range(1, CHECKPOINTS + 2)) and len(set(seen)) == len(seen)
    before = client.get("/api/v1/checkpoints", params={"filter": json.dumps({"before_id": last})}, headers=headers).json()
    assert all(one["id"] < last for one in before) and len(before) == 2 * CHECKPOINTS + 1
    for invalid in ({"after_id": "1"}, {"before_id": True}, {"after_id": 1 << 70}, {"before_id": None}):
        assert client.get("/api/v1/checkpoints", params={"filter": json.dumps(invalid)}, headers=headers).status_code == 422


def test_a_page_beyond_the_maximum_offset_is_refused_and_the_error_suggests_a_filter_by_id(
    client: TestClient, login: Login, run: RunHandle
) -> None:
    headers = login()
    far = listing.FIRST_MAX
    assert client.get("/api/v1/events", params={"range": f"[{far},{far + 9}]"}, headers=headers).json() == []
    for first in (far + 1, (1 << 63) - 11):
        refused = client.get("/api/v1/events", params={"range": f"[{first},{first + 9}]"}, headers=headers)
        assert refused.status_code == 422 and refused.json()["code"] == "too-deep"
        assert "after_id" in refused.json()["next_step"]


def test_a_list_query_that_takes_too_long_is_reported_as_an_invalid_request(
    client: TestClient, login: Login, run: RunHandle, settings: Settings
) -> None:
    """A locked table delays the query beyond the statement timeout, as a large table does."""
    headers = login()
    with (
        pytest.MonkeyPatch.context() as patched,
        psycopg.connect(settings.database_url.get_secret_value()) as locker,
    ):
        patched.setattr("weir_backend.kit.database.STATEMENT_TIMEOUT_MS", 300)
        locker.execute("LOCK TABLE checkpoints")
        with TestClient(create_app(settings, RecordedTasks()), raise_server_exceptions=False) as other_client:
            refused = other_client.get("/api/v1/checkpoints", headers=headers)
    assert refused.status_code == 422 and refused.json()["code"] == "query-timeout", refused.text
