from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.played import Stage

from weir_backend.kit.database import Database
from weir_backend.models import Role
from weir_backend.settings import Settings


@pytest.fixture
def stage(client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login) -> Stage:
    return Stage(client, database, settings, tasks, login(Role.OPERATOR, rollback=True))
