"""What things are called: processes, variables of the environment, exit codes of the supervisor. Light, as commands import it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

POSTGRES, VALKEY, SCHEMA, API, WORKER, BEAT = "postgres", "valkey", "schema", "api", "worker", "beat"
SUPERVISOR = "supervisor"
TITLES = {POSTGRES: "Postgres", VALKEY: "Valkey", SCHEMA: "schema", API: "API", WORKER: "worker", BEAT: "beat"}
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
