"""Names of processes, environment variables and exit codes of the supervisor. Light, because the commands import it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

POSTGRES, VALKEY, SCHEMA, API, BEAT = "postgres", "valkey", "schema", "api", "beat"
WORKER, COMPILER, CHORES = "worker", "compiler", "chores"
WORKERS = (WORKER, COMPILER, CHORES)
"""The workers of the queues in ``weir_backend.kit.tasks``, each with its own processes."""
SUPERVISOR = "supervisor"
TITLES = {
    POSTGRES: "Postgres", VALKEY: "Valkey", SCHEMA: "schema", API: "API", WORKER: "worker", COMPILER: "compiler", CHORES: "chores",
    BEAT: "beat",
}  # fmt: skip
"""Names in messages."""

DATABASE_URL, REDIS_URL = "WEIR_DATABASE_URL", "WEIR_REDIS_URL"
ADMIN_PASSWORD = "WEIR_ADMIN_PASSWORD"
"""Set for the process that creates the schema only."""

STOPPED, NOTHING_STARTED, OWNED = 0, 2, 3
"""Exit codes of a supervisor: stopped on request; nothing was started (see ``problem`` in platform.json); another one has the
directory."""


def weir_version() -> str:
    try:
        return version("weir-streaming")
    except PackageNotFoundError:
        return "unknown"
