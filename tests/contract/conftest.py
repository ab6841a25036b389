from tests.backend.conftest import postgres  # noqa: F401  # its Postgres is that of these tests, too
