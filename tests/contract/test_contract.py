"""Random requests to all endpoints. Each response must match the OpenAPI document, and no response is a 5xx error.

``make contract`` sends up to 100 requests to each endpoint. ``make contract EXAMPLES=500`` sends up to 500 requests. Without
the variable EXAMPLES, pytest sends up to 8 requests to each endpoint.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from pydantic import SecretStr
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance
from tests.backend.conftest import TEMPLATE, RecordedTasks, new_database
from tests.backend.jobs import RunHandle, body_of, completed, new_run, numbered, triggered
from tests.backend.serving import served

from weir_backend.app import create_app
from weir_backend.events import streams
from weir_backend.kit import waiting
from weir_backend.kit.access import digest, new_secret
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.models import Role, Token, TokenKind, User
from weir_backend.settings import Settings
from weir_workers.embedded.ports import free_port
from weir_workers.embedded.servers.postgres import Postgres

EXAMPLES = int(os.environ.get("EXAMPLES", "8"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
WAITING = {"wait_for_commands"}
"""Endpoints to which the test sends no requests, because they wait before they respond."""
STREAM_S = 0.2
"""Duration of event streams, and the maximum wait of requests. A stream ends after this time, so that the response is complete."""


def _operations() -> dict[str, Any]:
    """Return the operations of the OpenAPI document by id. The settings do not affect the document, so no server is needed."""
    unused_url = SecretStr("postgresql://weir@127.0.0.1:1/none")
    settings = Settings(
        database_url=unused_url, redis_url=SecretStr("redis://127.0.0.1:1/0"), secret_key=SecretStr("x" * 32), data_dir="/nowhere"
    )  # fmt: skip
    document = schemathesis.openapi.from_dict(create_app(settings, RecordedTasks()).openapi())
    found = {}
    for result in document.get_all_operations():
        operation = result.ok()
        if (name := operation.definition.raw["operationId"]) not in WAITING:
            found[name] = operation
    return found


OPERATIONS = _operations()


@dataclass(frozen=True)
class ServedApi:
    """A running API with a job and a run."""

    url: str
    database: Database

    def headers(self) -> dict[str, str]:
        """Create a user with all permissions and return the request headers of the user."""
        secret = new_secret()
        with self.database.session() as session:
            user = User(name=f"contract-{secret[-8:]}", role=Role.ADMIN, rollback=True)
            session.add(user)
            session.flush()
            session.add(
                Token(
                    user_id=user.id, name="contract", kind=TokenKind.API, role=Role.ADMIN, rollback=True, digest=digest(secret),
                    expires_at=now() + timedelta(hours=1),
                )
            )  # fmt: skip
        return {"Authorization": f"Bearer {secret}"}


@pytest.fixture(scope="module")
def api(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    with new_database(postgres, TEMPLATE) as name:
        settings = Settings(
            database_url=SecretStr(postgres.url.rsplit("/", 1)[0] + f"/{name}"),
            redis_url=SecretStr("redis://:weir@127.0.0.1:1/0"),
            secret_key=SecretStr("a key for tests with at least 32 characters"),
            data_dir=tmp_path_factory.mktemp("data"),
        )
        database = Database(settings.sqlalchemy_url, pool_size=2, name="weir tests")
        with pytest.MonkeyPatch.context() as patched, served(create_app(settings, RecordedTasks()), free_port()) as url:
            patched.setattr(streams, "STREAM_S", STREAM_S)
            patched.setattr(waiting, "WAIT_S_MAX", STREAM_S)
            _send_events(url, new_run(database))
            yield ServedApi(url, database)
        database.close()


def _send_events(url: str, run: RunHandle) -> None:
    body = body_of(numbered([triggered(1), completed(1), triggered(2)]))
    response = httpx2.post(f"{url}{run.url('/events')}", params={"first": 1, "oldest": 1}, content=body, headers=run.headers)
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_all_responses_match_the_openapi_document(name: str, api: ServedApi) -> None:
    # Each operation has its own user, because logging out and deleting users must not affect other operations.
    headers = api.headers()

    @hypothesis_settings(
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize="EXAMPLES" not in os.environ,
        database=None,
    )
    @given(case=OPERATIONS[name].as_strategy())
    def check(case: Any) -> None:
        # Use small ids, because the objects of the test have small ids.
        case.path_parameters = {
            one: 1 + value % 3 if isinstance(value, int) and value > 3 else value for one, value in case.path_parameters.items()
        }
        case.call_and_validate(base_url=api.url, headers=headers, checks=CHECKS)

    check()
