"""Limits on the size and nesting of request bodies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from tests.backend.conftest import Login

from weir_backend.app import API, BODY_BYTES_MAX
from weir_backend.settings import Settings

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("path", ["/session", "/jobs", "/tokens", "/jobs/1/plans", "/jobs/1/start"])
def test_a_body_that_is_too_large_returns_a_problem_document(client: TestClient, path: str) -> None:
    answer = client.post(f"{API}{path}", content=b"[" + b"[]," * BODY_BYTES_MAX + b"[]]", headers=JSON)
    assert answer.status_code in (401, 413), answer.text
    assert answer.headers["content-type"] == "application/problem+json" and answer.headers["x-request-id"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_an_unauthenticated_request_to_create_a_job_is_refused_if_its_body_is_too_large(client: TestClient) -> None:
    answer = client.post(f"{API}/jobs", content=b" " * (BODY_BYTES_MAX + 1), headers=JSON)
    assert answer.status_code == 413 and answer.json()["code"] == "too-large"


def test_an_upload_of_an_unauthenticated_caller_is_not_read(client: TestClient) -> None:
    def content() -> Iterator[bytes]:
        raise AssertionError("the content was read")
        yield b""

    answer = client.post(f"{API}/artifacts", params={"name": "job.py"}, content=content())
    assert answer.status_code == 401


def test_uploads_have_a_larger_limit_and_the_error_names_this_limit(client: TestClient, login: Login, settings: Settings) -> None:
    mine = login()
    fits = client.post(f"{API}/artifacts", params={"name": "job.py"}, content=b"#" * (2 * BODY_BYTES_MAX), headers=mine)
    assert fits.status_code == 201 and fits.json()["size"] == 2 * BODY_BYTES_MAX
    size = settings.artifact_bytes_max + 1
    answer = client.post(f"{API}/artifacts", params={"name": "job.py"}, content=b"#" * size, headers=mine)
    assert answer.status_code == 413 and f"{size:,} bytes; the limit is {size - 1:,}" in answer.json()["detail"]


def test_json_that_is_nested_too_deeply_is_invalid(client: TestClient, login: Login) -> None:
    answer = client.post(f"{API}/jobs", content=b"[" * 200_000, headers={**login(), **JSON})
    assert answer.status_code == 422


def test_a_path_with_a_trailing_slash_is_not_redirected(client: TestClient) -> None:
    answer = client.get(f"{API}/jobs/", headers={"Host": "evil.example"}, follow_redirects=False)
    assert answer.status_code == 404
