"""How commands connect to the platform: address, token, retries and errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import pytest
from tests.backend.cli.conftest import JobFile, Weir, token
from tests.backend.cli.fake_worker import Worker
from tests.backend.conftest import Login, RecordedTasks, shared_app
from tests.backend.serving import served

from weir.cli.client import http
from weir.cli.client.credentials import Endpoint
from weir.cli.client.errors import Refused, Unreachable
from weir.cli.client.http import HttpClient
from weir_backend.models import Role
from weir_backend.settings import Settings
from weir_workers.embedded.ports import free_port

pytestmark = pytest.mark.timeout(300)


def test_without_a_configured_platform_the_error_says_how_to_configure_one(weir: Weir) -> None:
    result = weir("jobs")
    assert result.code == 2
    assert result.err == "weir: No platform is configured. Run weir login --url ADDRESS, or set WEIR_API_URL and WEIR_TOKEN.\n"


def test_a_token_without_an_address_and_an_address_without_a_token_are_refused(
    weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_TOKEN", "weir_x")
    result = weir("jobs")
    assert result.code == 2 and "WEIR_TOKEN is set, but WEIR_API_URL is not. Set both." in result.err
    monkeypatch.delenv("WEIR_TOKEN")
    monkeypatch.setenv("WEIR_API_URL", "https://weir.example")
    result = weir("jobs")
    assert (
        result.code == 2
        and "no token for this address is saved. Set WEIR_TOKEN, or run weir login --url https://weir.example" in result.err
    )


@pytest.mark.parametrize(
    "url", ["weir.example", "ftp://x", "http://", "https://me:secret@host", "http://host:port", "http://[::"]
)
def test_an_invalid_address_is_refused(weir: Weir, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("WEIR_API_URL", url)
    monkeypatch.setenv("WEIR_TOKEN", "weir_x")
    result = weir("jobs")
    assert result.code == 2 and "is not a valid address. Write https://HOST" in result.err


def test_a_malformed_token_is_refused_before_it_is_sent(weir: Weir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_API_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("WEIR_TOKEN", "one two")
    result = weir("jobs")
    assert result.code == 2 and "WEIR_TOKEN is not a valid token" in result.err and "one two" not in result.err


def test_an_invalid_token_has_its_own_exit_code(platform: Worker, weir: Weir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_TOKEN", "weir_wrong")
    result = weir("jobs")
    assert result.code == 7 and result.out == ""
    assert result.err == f"weir: The token is not valid. Log in again: weir login --url {platform.url}\n"


def test_a_request_without_permission_is_refused(
    platform: Worker, weir: Weir, login: Login, monkeypatch: pytest.MonkeyPatch, job_file: JobFile
) -> None:
    monkeypatch.setenv("WEIR_TOKEN", token(login, Role.VIEWER))
    assert weir("jobs").code == 0
    result = weir("deploy", job_file(), "--name", "flights")
    assert result.code == 7 and "does not have the permission 'operate'" in result.err


def test_an_unreachable_platform_is_reported_after_retries(weir: Weir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "RETRY_S", 0.3)
    url = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setenv("WEIR_API_URL", url)
    monkeypatch.setenv("WEIR_TOKEN", "weir_x")
    result = weir("jobs")
    assert result.code == 6 and f"The platform at {url} does not respond (" in result.err and "Run weir doctor." in result.err


def test_the_error_for_invalid_input_names_the_field(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    result = weir("deploy", job_file(), "--name", "no spaces here")
    assert result.code == 2 and "--name 'no spaces here' is not a valid job name." in result.err
    result = weir("deploy", job_file(), "--name", "flights", "--conf", "spark.my.password=x")
    assert result.code == 2 and "looks like a secret" in result.err
    assert weir("jobs", "-o", "json").json == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.py", "--name", "x"), "Cannot read nowhere.py: No such file or directory"),
        (("job.txt", "--name", "x"), "Cannot deploy 'job.txt'"),
        (("{file}:1st", "--name", "x"), "'1st' is not a function name"),
        (("{file}", "--name", "x", "--interval", "often"), "'often' is not a duration"),
        (("{file}", "--name", "x", "--set", "year"), "--set 'year' is not a NAME=VALUE pair"),
        (
            ("{file}", "--name", "x", "--checkpoint-dir", "here"),
            "--checkpoint-dir here is a relative path",
        ),
    ],
)
def test_invalid_deployments_are_refused_without_a_request(
    platform: Worker, weir: Weir, job_file: JobFile, arguments: tuple[str, ...], message: str
) -> None:
    file = job_file()
    result = weir("deploy", *(one.replace("{file}", file) for one in arguments))
    assert result.code == 2 and message in result.err


def test_a_request_is_retried_until_the_api_is_reachable(settings: Settings, login: Login) -> None:
    viewer_token, port = token(login, Role.VIEWER), free_port()
    outages: list[str] = []
    client = HttpClient(Endpoint(f"http://127.0.0.1:{port}", viewer_token), retry_s=30.0, on_outage=outages.append)
    responses: list[int] = []
    requesting = threading.Thread(target=lambda: responses.append(client.request("GET", "/jobs").status_code))
    requesting.start()
    requesting.join(0.5)
    assert not responses
    with shared_app(settings, RecordedTasks()) as app, served(app, port):
        requesting.join(20)
    assert responses == [200] and len(outages) == 1
    client.close()


# ---- servers that fail or are not the API ---------------------------------------------------


class _FakeServer(BaseHTTPRequestHandler):
    """Sends the configured responses and records the requests."""

    responses: ClassVar[list[tuple[int, dict[str, str], bytes]]] = []
    requests: ClassVar[list[tuple[str, str | None]]] = []

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.requests.append((self.command, self.headers.get("Idempotency-Key")))
        status, headers, body = self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]
        if status == 0:
            self.close_connection = True  # the server closes the connection without a response
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = _answer

    def log_message(self, format: str, *args: Any) -> None:
        pass


PROBLEM = {"Content-Type": "application/problem+json"}
DONE = (200, {"Content-Type": "application/json"}, b"{}")
NO_RESPONSE: tuple[int, dict[str, str], bytes] = (0, {}, b"")


@pytest.fixture
def fake() -> Iterator[tuple[HttpClient, type[_FakeServer]]]:
    _FakeServer.requests.clear()
    server = HTTPServer(("127.0.0.1", 0), _FakeServer)
    server_thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    server_thread.start()
    client = HttpClient(Endpoint(f"http://127.0.0.1:{server.server_port}", "weir_x"), retry_s=2.0)
    yield client, _FakeServer
    client.close()
    server.shutdown()
    server_thread.join()
    server.server_close()


def test_a_post_is_retried_with_the_same_idempotency_key(fake: tuple[HttpClient, type[_FakeServer]]) -> None:
    client, server = fake
    server.responses = [NO_RESPONSE, (503, PROBLEM, b'{"detail": "the database does not answer"}'), DONE]
    assert client.request("POST", "/jobs/1/savepoints").status_code == 200
    keys = {key for _, key in server.requests}
    assert len(server.requests) == 3 and len(keys) == 1 and None not in keys
    client.request("POST", "/jobs/1/savepoints")
    assert server.requests[-1][1] not in keys, "a different request has a different idempotency key"


def test_a_request_is_retried_while_the_api_still_processes_it(fake: tuple[HttpClient, type[_FakeServer]]) -> None:
    client, server = fake
    server.responses = [(409, PROBLEM, b'{"code": "idempotency-key-busy", "detail": "still being served"}'), DONE]
    assert client.request("POST", "/jobs/1/savepoints").status_code == 200


def test_a_request_that_has_possibly_succeeded_is_not_retried(fake: tuple[HttpClient, type[_FakeServer]]) -> None:
    client, server = fake
    server.responses = [NO_RESPONSE]
    for method, once in (("DELETE", False), ("POST", True)):
        server.requests.clear()
        with pytest.raises(Unreachable, match="The request may have succeeded. Check before you retry"):
            client.request(method, "/tokens", once=once)
        assert len(server.requests) == 1


def test_a_server_that_is_not_the_api_is_reported(fake: tuple[HttpClient, type[_FakeServer]]) -> None:
    client, server = fake
    server.responses = [(404, {"Content-Type": "text/html"}, b"<h1>not here</h1>")]
    with pytest.raises(Unreachable, match=r"status 404\) is not from Weir's API"):
        client.request("GET", "/jobs")


def test_a_platform_that_returns_server_errors_counts_as_unreachable(fake: tuple[HttpClient, type[_FakeServer]]) -> None:
    client, server = fake
    client.retry_s = 0.3
    server.responses = [(503, PROBLEM, b'{"detail": "the database does not answer", "next_step": "weir doctor says more"}')]
    with pytest.raises(Unreachable, match="the database does not answer. Weir doctor says more"):
        client.request("GET", "/jobs")
    assert len(server.requests) > 1
    server.responses = [(500, PROBLEM, b'{"detail": "something is wrong"}')]
    with pytest.raises(Unreachable, match="cannot serve this request now. something is wrong"):
        client.request("GET", "/jobs")
    server.responses = [(429, PROBLEM, b'{"detail": "too many tries", "next_step": "try again in 9 s"}')]
    with pytest.raises(Refused, match="too many tries. Try again in 9 s"):
        client.request("GET", "/jobs")


def test_redirects_are_not_followed(fake: tuple[HttpClient, type[_FakeServer]]) -> None:
    client, server = fake
    server.responses = [(302, {"Location": "http://127.0.0.1:1/elsewhere"}, b"")]
    with pytest.raises(Unreachable, match="status 302"):
        client.request("GET", "/jobs")
    assert len(server.requests) == 1
