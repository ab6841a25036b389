"""What uvicorn serves: ``uvicorn --factory weir_backend.serve:app``. Settings come from the environment."""

from __future__ import annotations

from fastapi import FastAPI

from weir_backend.app import create_app
from weir_backend.kit import logs
from weir_backend.kit.broker import CeleryTasks
from weir_backend.settings import settings


def app() -> FastAPI:
    """Raises ConfigError if a setting is missing or wrong."""
    logs.configure()
    found = settings()
    return create_app(found, CeleryTasks(found.redis_url.get_secret_value()))
