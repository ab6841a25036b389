"""Serves the API as drivers and browsers use it: uvicorn on its own port, in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI


@contextmanager
def served(app: FastAPI, port: int) -> Iterator[str]:
    """Yield its address. Streams that are still open at the end are closed."""
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=1, access_log=False)
    )
    serving = threading.Thread(target=server.run)
    serving.start()
    try:
        while not server.started:
            assert serving.is_alive(), f"nothing can be served on port {port}"
            serving.join(0.01)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        serving.join()
