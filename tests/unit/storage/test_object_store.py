"""Object stores: lost responses, missing buckets and missing permissions."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.unit.storage.storage_builders import JOB, S3_OPTIONS, started

from weir.errors import ConfigError, StorageError, UnknownOutcome
from weir.storage.job_log import Appended, JobLog
from weir.storage.layout import JobLayout
from weir.storage.object_store import ObjectStorage
from weir.storage.probe import probe_storage


def _storage(endpoint: str, path: str = "bucket/p", create_timeout_s: float = 20.0) -> ObjectStorage:
    return ObjectStorage(f"s3://{path}", {**S3_OPTIONS, "endpoint": endpoint}, create_timeout_s=create_timeout_s)


class _Relay:
    """A proxy between client and server. The proxy drops the response to each request for which ``drops_response`` returns
    True."""

    def __init__(self, endpoint: str, drops_response: Callable[[bytes], bool], *, hang: bool = False) -> None:
        host, _, port = endpoint.removeprefix("http://").partition(":")
        self._server = (host, int(port))
        self._drops_response = drops_response
        self._hang = hang
        self._held: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        while request := _read_message(client):
            with socket.create_connection(self._server) as server:
                server.sendall(request)
                response = _read_message(server, head=request.startswith(b"HEAD"))
            if self._drops_response(request):
                if self._hang:
                    self._held.append(client)
                    return
                break
            client.sendall(response)
        client.close()

    def close(self) -> None:
        self._listener.close()
        for client in self._held:
            client.close()


def _read_message(connection: socket.socket, *, head: bool = False) -> bytes:
    """Read an HTTP message with a Content-Length or without a body."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (chunk := connection.recv(65536)):
            return b""
        data += chunk
    header, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in header.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while not head and len(body) < length:
        body += connection.recv(65536)
    return header + b"\r\n\r\n" + body


def _first_create() -> Callable[[bytes], bool]:
    seen: list[bytes] = []

    def drops_response(request: bytes) -> bool:
        if b"if-none-match" in request.lower():
            seen.append(request)
            return len(seen) == 1
        return False

    return drops_response


@pytest.fixture
def relay(s3_endpoint: str, request: pytest.FixtureRequest) -> Iterator[_Relay]:
    relay = _Relay(s3_endpoint, _first_create(), hang=request.param)
    yield relay
    relay.close()


@pytest.mark.parametrize("relay", [False, True], ids=["connection cut", "no response"], indirect=True)
def test_a_create_whose_response_is_lost_has_an_unknown_outcome(relay: _Relay, s3_endpoint: str, tmp_path: Path) -> None:
    storage = _storage(relay.endpoint, f"bucket/{tmp_path.name}", create_timeout_s=0.5)
    with pytest.raises(UnknownOutcome, match="may or may not have been written"):
        storage.create("log/1", b"entry")
    assert bytes(storage.get("log/1")) == b"entry"
    assert not storage.create("log/1", b"another")


@pytest.mark.parametrize("relay", [False], ids=["connection cut"], indirect=True)
def test_the_job_log_finds_the_outcome_of_a_create_whose_response_is_lost(relay: _Relay, tmp_path: Path) -> None:
    storage = _storage(relay.endpoint, f"bucket/{tmp_path.name}")
    log = JobLog(storage, JobLayout(JOB))
    assert isinstance(log.append(started(1), at=1), Appended)
    assert len(storage.list("")) == 1


def test_a_create_on_an_unreachable_server_has_an_unknown_outcome() -> None:
    storage = _storage("http://127.0.0.1:9")
    with pytest.raises(UnknownOutcome, match=r"bucket/p/log/1"):
        storage.create("log/1", b"x")


def test_a_missing_bucket_is_reported(s3_endpoint: str) -> None:
    storage = _storage(s3_endpoint, "nowhere/p")
    for use in (
        lambda: storage.put("a", (b"x",)),
        lambda: storage.create("a", b"x"),
        lambda: storage.list(""),
        lambda: storage.get("a"),
    ):
        with pytest.raises(StorageError, match="nowhere.*bucket does not exist. Create the bucket") as raised:
            use()
        assert type(raised.value) is StorageError, "the outcome is known"
    with pytest.raises(ConfigError, match="Cannot use checkpoint storage .*nowhere"):
        probe_storage(storage)


def test_the_outcome_of_a_request_is_known_if_the_server_responds_with_an_error(s3_endpoint: str) -> None:
    """The server responds with status 403 to every request."""
    listener = socket.create_server(("127.0.0.1", 0))

    def refuse() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                if _read_message(client):
                    client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    threading.Thread(target=refuse, daemon=True).start()
    storage = _storage(f"http://127.0.0.1:{listener.getsockname()[1]}")
    for use in (
        lambda: storage.put("a", (b"x",)),
        lambda: storage.create("a", b"x"),
        lambda: storage.list(""),
        lambda: storage.get("a"),
    ):
        with pytest.raises(StorageError, match="Check the credentials") as raised:
            use()
        assert type(raised.value) is StorageError
    listener.close()


_CREATE_OBJECTS = """
import json, sys
from weir.storage.object_store import ObjectStorage
url, endpoint, options, name = sys.argv[1:]
storage = ObjectStorage(url, {**json.loads(options), "endpoint": endpoint})
print("ready", flush=True)
sys.stdin.readline()
print([storage.create(f"shared/{number}", name.encode()) for number in range(10)])
"""


def test_exactly_one_create_succeeds_if_several_processes_create_the_same_object(s3_endpoint: str, tmp_path: Path) -> None:
    url = f"s3://bucket/{tmp_path.name}"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _CREATE_OBJECTS, url, s3_endpoint, json.dumps(S3_OPTIONS), str(writer)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for writer in range(3)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    results = [json.loads(writer.communicate("go\n")[0].lower()) for writer in writers]
    storage = _storage(s3_endpoint, f"bucket/{tmp_path.name}")
    for number in range(10):
        winners = [writer for writer, wins in enumerate(results) if wins[number]]
        assert len(winners) == 1
        assert bytes(storage.get(f"shared/{number}")) == b"%d" % winners[0]
