"""Entry point of uvicorn: ``uvicorn --factory weir_backend.serve:app``. The settings come from the environment."""

from __future__ import annotations

import gc
import sys

from fastapi import FastAPI

from weir_backend.app import create_app
from weir_backend.kit import logs
from weir_backend.kit.broker import CeleryTasks
from weir_backend.settings import settings

SWITCH_S = 0.001
"""The thread switch interval of Python, in seconds. The API switches threads about a dozen times to answer one request. At each thread switch, a
request can wait for one switch interval while another thread ingests a batch or computes a chart. With Python's default interval of 5 ms, pages take
twice as long to load when a thousand events per second arrive."""


def app() -> FastAPI:
    """Return the application of the API. Raises ConfigError if a setting is missing or invalid."""
    logs.configure()
    found = settings()
    app = create_app(found, CeleryTasks(found.redis_url.get_secret_value()))
    # The objects that the start of the API has created are never freed. Without ``freeze``, every full garbage collection of Python would scan
    # the objects that were created at the start, and pause all requests for 0.1 s.
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_S)
    return app
