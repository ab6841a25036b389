"""What things are called: processes, variables of the environment, exit codes of the supervisor. Light, as commands import it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

POSTGRES, VALKEY, SCHEMA, API, BEAT = "postgres", "valkey", "schema", "api", "beat"
WORKER, COMPILER, CHORES = "worker", "compiler", "chores"
WORKERS = (WORKER, COMPILER, CHORES)
"""Workers of the queues in ``weir_backend.kit.tasks``, each with processes of its own."""
SUPERVISOR = "supervisor"
TITLES = {
    POSTGRES: "Postgres", VALKEY: "Valkey", SCHEMA: "schema", API: "API", WORKER: "worker", COMPILER: "compiler", CHORES: "chores",
    BEAT: "beat",
}  # fmt: skip
"""For people."""

DATABASE_URL, REDIS_URL = "WEIR_DATABASE_URL", "WEIR_REDIS_URL"
ADMIN_PASSWORD = "WEIR_ADMIN_PASSWORD"
"""Of the process that makes the schema only."""

STOPPED, NOTHING_STARTED, OWNED = 0, 2, 3
"""How a supervisor ends: it was told to; ``problem`` in platform.json says why; another one has the directory."""


def weir_version() -> str:
    try:
        return version("weir")
    except PackageNotFoundError:
        return "unknown"
