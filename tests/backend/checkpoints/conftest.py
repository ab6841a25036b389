from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.fake_workers import Platform

from weir_backend.kit.database import Database
from weir_backend.models import Role
from weir_backend.settings import Settings


@pytest.fixture
def platform(client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login) -> Platform:
    return Platform(client, database, settings, tasks, login(Role.OPERATOR, rollback=True))
