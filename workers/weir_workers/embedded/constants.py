"""Names of processes, environment variables, and exit codes of the supervisor. This module imports little, because the commands import it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

POSTGRES, VALKEY, SCHEMA, API, BEAT = "postgres", "valkey", "schema", "api", "beat"
WORKER, COMPILER, CHORES = "worker", "compiler", "chores"
WORKERS = (WORKER, COMPILER, CHORES)
"""One worker for each queue in ``weir_backend.kit.tasks``."""
SUPERVISOR = "supervisor"
TITLES = {
    POSTGRES: "Postgres", VALKEY: "Valkey", SCHEMA: "schema", API: "API", WORKER: "worker", COMPILER: "compiler", CHORES: "chores",
    BEAT: "beat",
}  # fmt: skip
"""Names in messages."""

DATABASE_URL, REDIS_URL = "WEIR_DATABASE_URL", "WEIR_REDIS_URL"
ADMIN_PASSWORD = "WEIR_ADMIN_PASSWORD"
"""Only the process that creates the schema gets this variable."""

STOPPED = 0
"""Exit code of a supervisor that was stopped."""
NOTHING_STARTED = 2
"""Exit code of a supervisor that did not start any process. The field ``problem`` of platform.json contains the reason why no
process was started."""
OWNED = 3
"""Exit code of a supervisor if another supervisor holds the lock of the directory."""


def weir_version() -> str:
    try:
        return version("weir-streaming")
    except PackageNotFoundError:
        return "unknown"
