"""A local S3 server for tests."""

from __future__ import annotations

import logging
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto.server import ThreadedMotoServer

_one_request = threading.Lock()


@contextmanager
def s3_server(bucket: str) -> Iterator[str]:
    """Run a server with an empty bucket, and yield the URL of its endpoint."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = _S3Server(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{bucket}", method="PUT")).close()
    yield endpoint
    server.stop()


class _S3Server(ThreadedMotoServer):
    def start(self) -> None:
        super().start()
        assert self._server is not None
        self._server.app = _serialized(self._server.app)


def _serialized(app: Any) -> Any:
    """Return an application that handles one request at a time. Moto is not thread-safe: simultaneous requests can fail, and several
    conditional writes of one object can succeed."""

    def handle(environ: dict[str, Any], start_response: Any) -> Any:
        with _one_request:
            return app(environ, start_response)

    return handle
