"""Prints the OpenAPI document of the API: what the types of the web interface are made from. Nothing is started, nothing connected to."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pydantic import SecretStr

from weir_backend.app import create_app
from weir_backend.settings import Settings


class NoTasks:
    """Nobody works while a document is made."""

    def enqueue(self, name: str, *arguments: int | str, queue: str | None = None, expires_s: int | None = None) -> None:
        raise AssertionError("a document needs no work done")


def document() -> str:
    settings = Settings(
        database_url=SecretStr("postgresql://nobody@127.0.0.1:1/nothing"),
        redis_url=SecretStr("redis://127.0.0.1:1/0"),
        secret_key=SecretStr("nothing is signed with this, ever"),
        data_dir=Path("nowhere"),
    )
    return json.dumps(create_app(settings, NoTasks()).openapi(), indent=1, sort_keys=True)


if __name__ == "__main__":
    sys.stdout.write(document() + "\n")
