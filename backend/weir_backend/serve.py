"""What uvicorn serves: ``uvicorn --factory weir_backend.serve:app``. Settings come from the environment."""

from __future__ import annotations

import gc
import sys

from fastapi import FastAPI

from weir_backend.app import create_app
from weir_backend.kit import logs
from weir_backend.kit.broker import CeleryTasks
from weir_backend.settings import settings

SWITCH_S = 0.001
"""How long a thread may compute before another one gets its turn. A request changes threads a dozen times, and waits as long each time for
whoever takes in a batch or draws a chart; with Python's 5 ms a page took twice as long beside a thousand events a second."""


def app() -> FastAPI:
    """Raises ConfigError if a setting is missing or wrong."""
    logs.configure()
    found = settings()
    app = create_app(found, CeleryTasks(found.redis_url.get_secret_value()))
    # What is there by now stays for as long as the process: looked through by every full collection, it holds up all requests for a
    # tenth of a second.
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_S)
    return app
