from tests.backend.conftest import postgres  # noqa: F401  # a fixture of these tests
