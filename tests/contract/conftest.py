from tests.backend.conftest import database, login, postgres, settings, tasks  # noqa: F401  # fixtures of these tests, too
