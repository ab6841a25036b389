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
"""Python's thread switch interval. The thread switch interval of Python. A request switches threads a dozen times, and each time it can wait this
long for a thread that ingests a batch or computes a chart. With the default of 5 ms, pages take twice as long at a thousand events per second."""


def app() -> FastAPI:
    """Raises ConfigError if a setting is missing or wrong."""
    logs.configure()
    found = settings()
    app = create_app(found, CeleryTasks(found.redis_url.get_secret_value()))
    # The objects loaded so far exist as long as the process. Without ``freeze``, every full garbage collection would scan them and pause all
    # requests for 0.1 s.
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_S)
    return app
