"""Every endpoint answers as its OpenAPI document says, whatever is sent to it: no 5xx, no answer that is not described.

make contract                    a few requests for each endpoint
make contract EXAMPLES=500       many
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck
from hypothesis import settings as how
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.jobs import body_of, completed, new_run, numbered, triggered
from tests.backend.serving import served

from weir_backend.app import create_app
from weir_backend.kit.database import Database
from weir_backend.models import Role
from weir_backend.settings import Settings
from weir_workers.embedded.children import free_port

EXAMPLES = int(os.environ.get("EXAMPLES", "8"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
WAITS = ("stream", "wait_for_commands")
"""Operations whose answer does not end, or is waited for: tested elsewhere."""


@pytest.fixture
def api_schema(settings: Settings, database: Database, tasks: RecordedTasks, login: Login) -> Iterator[Any]:
    run = new_run(database)
    app = create_app(settings, tasks)
    with served(app, free_port()) as url:
        schema = schemathesis.openapi.from_url(f"{url}/api/v1/openapi.json")
        _tell(url, run)
        schema.config.headers = login(Role.ADMIN, rollback=True)
        yield schema


def _tell(url: str, run: Any) -> None:
    import httpx2

    body = body_of(numbered([triggered(1), completed(1), triggered(2)]))
    answer = httpx2.post(f"{url}{run.url('/events')}", params={"first": 1, "oldest": 1}, content=body, headers=run.headers)
    assert answer.status_code == 200, answer.text


schema = schemathesis.pytest.from_fixture("api_schema").exclude(operation_id_regex="|".join(WAITS))


@schemathesis.hook("map_path_parameters")
def ids_that_may_exist(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Anything is a valid id, and nearly none is one of a thing that is there."""
    return {
        name: (1 + value % 3 if isinstance(value, int) and value > 3 else value)
        for name, value in (path_parameters or {}).items()
    }


@schema.parametrize()
@how(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize="EXAMPLES" not in os.environ)
def test_every_answer_is_one_that_is_described(case: Any) -> None:
    case.call_and_validate(checks=CHECKS)
