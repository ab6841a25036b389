"""Where the platform is, who is calling, and what is said if one of them is wrong or the platform is away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import pytest
from tests.backend.cli.conftest import JobFile, Weir, token
from tests.backend.cli.worker import Worker
from tests.backend.conftest import Login, RecordedTasks, lent_app
from tests.backend.serving import served

from weir.cli.remote import http
from weir.cli.remote.errors import Refused, Unreachable
from weir.cli.remote.http import Http
from weir.cli.remote.place import Place
from weir_backend.models import Role
from weir_backend.settings import Settings
from weir_workers.embedded.children import free_port

pytestmark = pytest.mark.timeout(60)


def test_no_platform_is_known(weir: Weir) -> None:
    said = weir("jobs")
    assert said.code == 2
    assert said.err == "weir: no platform is known: weir up, weir login, or set WEIR_API_URL and WEIR_TOKEN\n"


def test_half_of_it_is_refused_by_what_is_missing(weir: Weir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_TOKEN", "weir_x")
    said = weir("jobs")
    assert said.code == 2 and "WEIR_TOKEN is set, but not where it is to be used: set WEIR_API_URL, too" in said.err
    monkeypatch.delenv("WEIR_TOKEN")
    monkeypatch.setenv("WEIR_API_URL", "https://weir.example")
    said = weir("jobs")
    assert said.code == 2 and "there is no token for it: set WEIR_TOKEN, or weir login --url https://weir.example" in said.err


@pytest.mark.parametrize(
    "url", ["weir.example", "ftp://x", "http://", "https://me:secret@host", "http://host:port", "http://[::"]
)
def test_what_is_no_address_is_refused(weir: Weir, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("WEIR_API_URL", url)
    monkeypatch.setenv("WEIR_TOKEN", "weir_x")
    said = weir("jobs")
    assert said.code == 2 and "is no address of a platform: write https://HOST" in said.err


def test_a_token_that_was_cut_is_refused_before_it_is_sent(weir: Weir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_API_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("WEIR_TOKEN", "one two")
    said = weir("jobs")
    assert said.code == 2 and "WEIR_TOKEN is no token" in said.err and "one two" not in said.err


def test_a_wrong_token_is_told_apart(platform: Worker, weir: Weir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_TOKEN", "weir_wrong")
    said = weir("jobs")
    assert said.code == 7 and said.out == ""
    assert said.err == f"weir: the token is not valid, or not any more; log in again: weir login --url {platform.url}\n"


def test_what_one_may_not_do_is_refused(
    platform: Worker, weir: Weir, login: Login, monkeypatch: pytest.MonkeyPatch, job_file: JobFile
) -> None:
    monkeypatch.setenv("WEIR_TOKEN", token(login, Role.VIEWER))
    assert weir("jobs").code == 0
    said = weir("deploy", job_file(), "--name", "flights")
    assert said.code == 7 and "it needs the permission 'operate'; ask an administrator for it" in said.err


def test_a_platform_that_is_away_is_told_after_some_tries(weir: Weir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PATIENCE_S", 0.3)
    url = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setenv("WEIR_API_URL", url)
    monkeypatch.setenv("WEIR_TOKEN", "weir_x")
    said = weir("jobs")
    assert (
        said.code == 6 and f"the platform at {url} does not answer (" in said.err and "weir doctor says what is wrong" in said.err
    )


def test_invalid_input_is_refused_with_its_field(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    said = weir("deploy", job_file(), "--name", "no spaces here")
    assert said.code == 2 and "name: " in said.err
    said = weir("deploy", job_file(), "--name", "flights", "--conf", "spark.my.password=x")
    assert said.code == 2 and "looks like a secret" in said.err
    assert weir("jobs", "-o", "json").json == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nowhere.py", "--name", "x"), "nowhere.py cannot be read: No such file or directory"),
        (("job.txt", "--name", "x"), "'job.txt' is no file that can be deployed"),
        (("{file}:1st", "--name", "x"), "'1st' is no function"),
        (("{file}", "--name", "x", "--interval", "often"), "'often' is no duration"),
        (("{file}", "--name", "x", "--set", "year"), "--set 'year': write it as name=value"),
        (
            ("{file}", "--name", "x", "--checkpoint-dir", "here"),
            "--checkpoint-dir here: the platform does not know where you are",
        ),
    ],
)
def test_what_cannot_be_deployed_is_refused_here(
    platform: Worker, weir: Weir, job_file: JobFile, arguments: tuple[str, ...], complaint: str
) -> None:
    file = job_file()
    said = weir("deploy", *(one.replace("{file}", file) for one in arguments))
    assert said.code == 2 and complaint in said.err


def test_who_waits_sits_out_a_restart_of_the_platform(settings: Settings, login: Login) -> None:
    at, port = token(login, Role.VIEWER), free_port()
    told: list[str] = []
    client = Http(Place(f"http://127.0.0.1:{port}", at), patience_s=30.0, on_outage=told.append)
    answers: list[int] = []
    asking = threading.Thread(target=lambda: answers.append(client.request("GET", "/jobs").status_code))
    asking.start()
    asking.join(0.5)
    assert not answers
    with lent_app(settings, RecordedTasks()) as app, served(app, port):
        asking.join(20)
    assert answers == [200] and len(told) == 1
    client.close()


# ---- servers that are no platform, or not always ---------------------------------------------------


class _Odd(BaseHTTPRequestHandler):
    """Answers what it is told to, and remembers what it was asked."""

    answers: ClassVar[list[tuple[int, dict[str, str], bytes]]] = []
    asked: ClassVar[list[tuple[str, str | None]]] = []

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.asked.append((self.command, self.headers.get("Idempotency-Key")))
        status, headers, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if status == 0:
            self.close_connection = True  # it dies before it answers
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
DEAD: tuple[int, dict[str, str], bytes] = (0, {}, b"")


@pytest.fixture
def odd() -> Iterator[tuple[Http, type[_Odd]]]:
    _Odd.asked.clear()
    server = HTTPServer(("127.0.0.1", 0), _Odd)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    client = Http(Place(f"http://127.0.0.1:{server.server_port}", "weir_x"), patience_s=2.0)
    yield client, _Odd
    client.close()
    server.shutdown()
    serving.join()
    server.server_close()


def test_a_post_is_sent_again_with_the_same_key(odd: tuple[Http, type[_Odd]]) -> None:
    client, server = odd
    server.answers = [DEAD, (503, PROBLEM, b'{"detail": "the database does not answer"}'), DONE]
    assert client.request("POST", "/jobs/1/savepoints").status_code == 200
    keys = {key for _, key in server.asked}
    assert len(server.asked) == 3 and len(keys) == 1 and None not in keys
    client.request("POST", "/jobs/1/savepoints")
    assert server.asked[-1][1] not in keys, "another request, another key"


def test_what_is_still_being_served_is_asked_for_again(odd: tuple[Http, type[_Odd]]) -> None:
    client, server = odd
    server.answers = [(409, PROBLEM, b'{"code": "idempotency-key-busy", "detail": "still being served"}'), DONE]
    assert client.request("POST", "/jobs/1/savepoints").status_code == 200


def test_what_may_have_happened_is_not_repeated(odd: tuple[Http, type[_Odd]]) -> None:
    client, server = odd
    server.answers = [DEAD]
    for method, once in (("DELETE", False), ("POST", True)):
        server.asked.clear()
        with pytest.raises(Unreachable, match="whether it has done it is not known; look before you try again"):
            client.request(method, "/tokens", once=once)
        assert len(server.asked) == 1


def test_who_is_no_platform_is_told_so(odd: tuple[Http, type[_Odd]]) -> None:
    client, server = odd
    server.answers = [(404, {"Content-Type": "text/html"}, b"<h1>not here</h1>")]
    with pytest.raises(Unreachable, match="answers 404, and not as a platform does: is the address right"):
        client.request("GET", "/jobs")


def test_a_platform_in_trouble_is_no_refusal(odd: tuple[Http, type[_Odd]]) -> None:
    client, server = odd
    client.patience_s = 0.3
    server.answers = [(503, PROBLEM, b'{"detail": "the database does not answer", "next_step": "weir doctor says more"}')]
    with pytest.raises(Unreachable, match="the database does not answer; weir doctor says more"):
        client.request("GET", "/jobs")
    assert len(server.asked) > 1
    server.answers = [(500, PROBLEM, b'{"detail": "something is wrong"}')]
    with pytest.raises(Unreachable, match="does not serve this now: something is wrong"):
        client.request("GET", "/jobs")
    server.answers = [(429, PROBLEM, b'{"detail": "too many tries", "next_step": "try again in 9 s"}')]
    with pytest.raises(Refused, match="too many tries; try again in 9 s"):
        client.request("GET", "/jobs")


def test_a_token_is_not_carried_to_where_somebody_points(odd: tuple[Http, type[_Odd]]) -> None:
    client, server = odd
    server.answers = [(302, {"Location": "http://127.0.0.1:1/elsewhere"}, b"")]
    with pytest.raises(Unreachable, match="answers 302"):
        client.request("GET", "/jobs")
    assert len(server.asked) == 1
