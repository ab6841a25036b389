"""Print the OpenAPI document of the API, without starting the API. The web UI's types are generated from this document."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pydantic import SecretStr

from weir_backend.app import create_app
from weir_backend.settings import Settings


class NoTasks:
    """A task queue for the app. Generating the document must not enqueue tasks."""

    def enqueue(self, name: str, *arguments: int | str, queue: str | None = None, expires_s: int | None = None) -> None:
        raise AssertionError("generating the OpenAPI document must not enqueue tasks")


def document() -> str:
    settings = Settings(
        database_url=SecretStr("postgresql://unused@127.0.0.1:1/unused"),
        redis_url=SecretStr("redis://127.0.0.1:1/0"),
        secret_key=SecretStr("unused, because no request is served"),
        data_dir=Path("unused"),
    )
    return json.dumps(create_app(settings, NoTasks()).openapi(), indent=1, sort_keys=True)


if __name__ == "__main__":
    sys.stdout.write(document() + "\n")
