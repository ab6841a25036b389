"""The control link over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest
from tests.control_plane import TOKEN, ControlPlane
from tests.control_plane import control_plane as running_control_plane
from tests.unit.link.link_examples import EVENTS, failed

from weir.errors import ConfigError
from weir.link.control_link import ControlLink
from weir.link.http import LinkAddress, LinkClient
from weir.link.spool import Spool, read_unconfirmed
from weir.protocol.events import Cancel, CommandAnswered, CommandOutcome, NumberedCommand, Suspend, TakeSavepoint
from weir.protocol.ids import CommandId


@pytest.fixture
def control_plane() -> Iterator[ControlPlane]:
    with running_control_plane() as running:
        yield running


class Run:
    def __init__(self, directory: Path, address: LinkAddress, *, close_timeout_s: float = 5.0) -> None:
        self.commands: list[NumberedCommand] = []
        self.refusal: str | None = None
        self.error: Exception | None = None
        self.spool = Spool(directory / "run", wall_ms=lambda: 1)
        self.superseded: SimpleQueue[str] = SimpleQueue()
        self.link = ControlLink(address, self.spool, self._handle_command, self.superseded.put, close_timeout_s=close_timeout_s)
        self.link.start()

    def _handle_command(self, command: NumberedCommand) -> Callable[[], None] | str:
        self.commands.append(command)
        if self.error is not None:
            raise self.error
        return self.refusal if self.refusal is not None else lambda: self.spool.append(failed(command.id))


def address(of: ControlPlane, token: str = TOKEN) -> LinkAddress:
    return LinkAddress(of.url, token)


def test_events_arrive_unchanged_and_in_order(control_plane: ControlPlane, tmp_path: Path) -> None:
    run = Run(tmp_path, address(control_plane))
    for event in EVENTS:
        run.spool.append(event)
    assert control_plane.wait_for(lambda seen: len(seen) == len(EVENTS)) == list(EVENTS)
    run.link.close()
    assert list(read_unconfirmed(tmp_path / "run")) == []


def test_the_control_link_sends_the_last_events_before_it_closes(control_plane: ControlPlane, tmp_path: Path) -> None:
    run = Run(tmp_path, address(control_plane))
    run.spool.append(failed(1))
    run.link.close()
    assert control_plane.seen() == [failed(1)] and control_plane.gaps == 0


def test_events_that_are_recorded_during_an_outage_are_sent_after_the_outage(control_plane: ControlPlane, tmp_path: Path) -> None:
    run = Run(tmp_path, address(control_plane))
    run.spool.append(failed(1))
    control_plane.wait_for(lambda seen: len(seen) == 1)
    control_plane.down = True
    run.spool.append(failed(2))
    control_plane.wait_for(lambda seen: control_plane.posts > 1)
    control_plane.down = False
    run.spool.append(failed(3))
    assert control_plane.wait_for(lambda seen: len(seen) == 3) == [failed(1), failed(2), failed(3)]
    run.link.close()
    assert control_plane.gaps == 0


def test_each_command_is_executed_and_answered_once_and_in_order(control_plane: ControlPlane, tmp_path: Path) -> None:
    run = Run(tmp_path, address(control_plane))
    sent = [TakeSavepoint(), Suspend(), Cancel()]
    for command in sent:
        control_plane.command(command)
    seen = control_plane.wait_for(lambda seen: len(seen) == 6)
    assert [one.command for one in run.commands] == sent
    answered = [CommandAnswered(CommandId(number), CommandOutcome.ACCEPTED) for number in (1, 2, 3)]
    assert seen == [event for number, answer in enumerate(answered, 1) for event in (answer, failed(number))], (
        "the answer to a command arrives before the events that the command causes"
    )
    run.link.close()


def test_the_answer_to_a_refused_or_failed_command_contains_the_reason(control_plane: ControlPlane, tmp_path: Path) -> None:
    run = Run(tmp_path, address(control_plane))
    run.refusal = "refused during a restart"
    control_plane.command(TakeSavepoint())
    control_plane.wait_for(lambda seen: len(seen) == 1)
    run.error = ValueError("broken")
    control_plane.command(TakeSavepoint())
    assert control_plane.wait_for(lambda seen: len(seen) == 2) == [
        CommandAnswered(CommandId(1), CommandOutcome.REFUSED, "refused during a restart"),
        CommandAnswered(CommandId(2), CommandOutcome.REFUSED, "internal error: ValueError: broken"),
    ]
    run.link.close()


FINAL = [(401, "unauthenticated"), (404, "no-run"), (410, "fenced"), (410, "over")]


@pytest.mark.parametrize(("status", "code"), FINAL)
def test_a_refused_run_sends_no_more_requests_and_keeps_its_unconfirmed_events(
    control_plane: ControlPlane, tmp_path: Path, status: int, code: str
) -> None:
    control_plane.status, control_plane.code = status, code
    run = Run(tmp_path, address(control_plane))
    run.spool.append(failed(1))
    run.link._sender.join(0.5)
    for number in range(2, 5):
        run.spool.append(failed(number))
    run.link.close()
    assert control_plane.posts == 1 and len(list(read_unconfirmed(tmp_path / "run"))) == 4
    assert run.superseded.empty() == (code != "fenced")


def test_a_fenced_run_is_notified_even_if_it_has_no_events_to_send(control_plane: ControlPlane, tmp_path: Path) -> None:
    control_plane.status, control_plane.code = 410, "fenced"
    run = Run(tmp_path, address(control_plane))
    assert run.superseded.get(timeout=30.0) == "the control plane reports that another driver has taken over the job"
    run.link.close()


@pytest.mark.parametrize(
    ("status", "code"),
    [*((status, None) for status in (401, 403, 404, 405, 410)), (404, "not-found"), (403, "forbidden"), (401, "over")],
)
def test_error_responses_of_a_proxy_are_ignored_and_the_request_is_retried(
    control_plane: ControlPlane, tmp_path: Path, status: int, code: str | None
) -> None:
    control_plane.status, control_plane.code = status, code
    run = Run(tmp_path, address(control_plane))
    run.spool.append(failed(1))
    control_plane.wait_for(lambda seen: control_plane.posts > 1)
    assert LinkClient(address(control_plane)).commands(after=CommandId(0), wait_s=0.0).refused is None
    control_plane.status = None
    control_plane.command(Suspend())
    answered = CommandAnswered(CommandId(1), CommandOutcome.ACCEPTED)
    assert set(control_plane.wait_for(lambda seen: len(seen) == 3)) == {failed(1), answered}
    run.link.close()


@pytest.mark.parametrize(("status", "code"), FINAL)
def test_a_client_reports_that_the_control_plane_has_refused_its_request_for_commands(
    control_plane: ControlPlane, status: int, code: str
) -> None:
    control_plane.status, control_plane.code = status, code
    assert LinkClient(address(control_plane)).commands(after=CommandId(0), wait_s=0.0).refused


def test_a_wrong_token_is_refused(control_plane: ControlPlane, tmp_path: Path) -> None:
    run = Run(tmp_path, address(control_plane, "another-token"))
    run.spool.append(failed(1))
    run.link.close()
    assert control_plane.events == [] and len(list(read_unconfirmed(tmp_path / "run"))) == 1
    assert LinkClient(address(control_plane, "another-token")).commands(after=CommandId(0), wait_s=0.0).refused


@pytest.mark.parametrize("failure", ["down", "silent", "refusing"])
def test_close_returns_after_a_time_limit_if_the_control_plane_does_not_respond(
    control_plane: ControlPlane, tmp_path: Path, failure: str
) -> None:
    if failure == "down":
        control_plane.close()
    elif failure == "refusing":
        control_plane.status = 503
    else:
        control_plane.silent = True
    run = Run(tmp_path, address(control_plane), close_timeout_s=0.5)
    run.spool.append(failed(1))
    start = time.monotonic()
    run.link.close()
    assert time.monotonic() - start < 10.0
    assert len(list(read_unconfirmed(tmp_path / "run"))) == 1


def test_a_link_that_was_never_started_can_be_closed(control_plane: ControlPlane, tmp_path: Path) -> None:
    spool = Spool(tmp_path / "run", wall_ms=lambda: 1)
    ControlLink(address(control_plane), spool, lambda command: lambda: None, print).close()


@pytest.mark.parametrize(
    "url", ["", "weir.example/runs/1", "ftp://weir.example/runs/1", "http:///runs/1", "http://me:secret@weir.example/runs/1",
            "http://weir.example/runs/1?x=1"],
)  # fmt: skip
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="Invalid run URL"):
        LinkAddress(url, TOKEN)


@pytest.mark.parametrize("token", ["", "two\nlines", "ümlaut"])
def test_the_error_for_an_invalid_token_does_not_contain_the_token(token: str) -> None:
    with pytest.raises(ConfigError, match="Invalid run token") as refused:
        LinkAddress("http://weir.example/runs/1", token)
    assert not token or token not in str(refused.value)


def test_the_repr_of_the_link_options_does_not_contain_the_token(control_plane: ControlPlane) -> None:
    assert TOKEN not in repr(address(control_plane)) and TOKEN not in str(address(control_plane))
    assert TOKEN not in repr(LinkClient(address(control_plane)))
