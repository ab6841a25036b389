"""The line over real HTTP: what is said arrives once, what is asked is answered, and nobody waits for a control plane that is away."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest
from tests.control_plane import TOKEN, ControlPlane, control_plane
from tests.unit.link.link_examples import EVENTS, failed

from weir.errors import ConfigError
from weir.link.http import LinkAddress, LinkClient
from weir.link.line import ControlPlaneLine
from weir.link.spool import Spool, leftover
from weir.protocol.events import Cancel, CommandAnswered, CommandOutcome, NumberedCommand, Suspend, TakeSavepoint
from weir.protocol.ids import CommandId


@pytest.fixture
def there() -> Iterator[ControlPlane]:
    with control_plane() as made:
        yield made


class Run:
    def __init__(self, directory: Path, address: LinkAddress, *, farewell_s: float = 5.0) -> None:
        self.commands: list[NumberedCommand] = []
        self.refusal: str | None = None
        self.error: Exception | None = None
        self.spool = Spool(directory / "run", wall_ms=lambda: 1)
        self.taken: SimpleQueue[str] = SimpleQueue()
        self.line = ControlPlaneLine(address, self.spool, self._carry, self.taken.put, farewell_s=farewell_s)
        self.line.start()

    def _carry(self, command: NumberedCommand) -> Callable[[], None] | str:
        self.commands.append(command)
        if self.error is not None:
            raise self.error
        return self.refusal if self.refusal is not None else lambda: self.spool.append(failed(command.id))


def address(of: ControlPlane, token: str = TOKEN) -> LinkAddress:
    return LinkAddress(of.url, token)


def test_events_arrive_as_they_were_and_in_order(there: ControlPlane, tmp_path: Path) -> None:
    run = Run(tmp_path, address(there))
    for event in EVENTS:
        run.spool.append(event)
    assert there.wait_for(lambda seen: len(seen) == len(EVENTS)) == list(EVENTS)
    run.line.close()
    assert list(leftover(tmp_path / "run")) == []


def test_what_is_said_last_arrives_before_the_line_is_closed(there: ControlPlane, tmp_path: Path) -> None:
    run = Run(tmp_path, address(there))
    run.spool.append(failed(1))
    run.line.close()
    assert there.seen() == [failed(1)] and there.gaps == 0


def test_a_control_plane_that_was_away_gets_everything_once_it_is_back(there: ControlPlane, tmp_path: Path) -> None:
    run = Run(tmp_path, address(there))
    run.spool.append(failed(1))
    there.wait_for(lambda seen: len(seen) == 1)
    there.down = True
    run.spool.append(failed(2))
    there.wait_for(lambda seen: there.posts > 1)
    there.down = False
    run.spool.append(failed(3))
    assert there.wait_for(lambda seen: len(seen) == 3) == [failed(1), failed(2), failed(3)]
    run.line.close()
    assert there.gaps == 0


def test_commands_are_carried_out_in_order_once_each_and_answered(there: ControlPlane, tmp_path: Path) -> None:
    run = Run(tmp_path, address(there))
    sent = [TakeSavepoint(), Suspend(), Cancel()]
    for command in sent:
        there.command(command)
    seen = there.wait_for(lambda seen: len(seen) == 6)
    assert [one.command for one in run.commands] == sent
    answered = [CommandAnswered(CommandId(number), CommandOutcome.ACCEPTED) for number in (1, 2, 3)]
    assert seen == [event for number, answer in enumerate(answered, 1) for event in (answer, failed(number))], (
        "what comes of a command is told after its answer"
    )
    run.line.close()


def test_a_refusal_says_why_and_so_does_a_command_that_breaks(there: ControlPlane, tmp_path: Path) -> None:
    run = Run(tmp_path, address(there))
    run.refusal = "not while it restarts"
    there.command(TakeSavepoint())
    there.wait_for(lambda seen: len(seen) == 1)
    run.error = ValueError("broken")
    there.command(TakeSavepoint())
    assert there.wait_for(lambda seen: len(seen) == 2) == [
        CommandAnswered(CommandId(1), CommandOutcome.REFUSED, "not while it restarts"),
        CommandAnswered(CommandId(2), CommandOutcome.REFUSED, "internal error: ValueError: broken"),
    ]
    run.line.close()


FINAL = [(401, "unauthenticated"), (404, "no-run"), (410, "fenced"), (410, "over")]


@pytest.mark.parametrize(("status", "code"), FINAL)
def test_a_run_that_is_not_wanted_stops_talking_and_keeps_its_events(
    there: ControlPlane, tmp_path: Path, status: int, code: str
) -> None:
    there.status, there.code = status, code
    run = Run(tmp_path, address(there))
    run.spool.append(failed(1))
    run.line._sender.join(0.5)
    for number in range(2, 5):
        run.spool.append(failed(number))
    run.line.close()
    assert there.posts == 1 and len(list(leftover(tmp_path / "run"))) == 4
    assert run.taken.empty() == (code != "fenced")


def test_a_run_whose_job_was_taken_from_it_hears_that_also_while_it_has_nothing_to_say(
    there: ControlPlane, tmp_path: Path
) -> None:
    there.status, there.code = 410, "fenced"
    run = Run(tmp_path, address(there))
    assert run.taken.get(timeout=30.0) == "the control plane says that the job was taken from it"
    run.line.close()


@pytest.mark.parametrize(
    ("status", "code"),
    [*((status, None) for status in (401, 403, 404, 405, 410)), (404, "not-found"), (403, "forbidden"), (401, "over")],
)
def test_a_stranger_at_the_port_is_not_believed_and_the_run_is_heard_once_the_control_plane_is_back(
    there: ControlPlane, tmp_path: Path, status: int, code: str | None
) -> None:
    there.status, there.code = status, code
    run = Run(tmp_path, address(there))
    run.spool.append(failed(1))
    there.wait_for(lambda seen: there.posts > 1)
    assert LinkClient(address(there)).commands(after=CommandId(0), wait_s=0.0).refused is None
    there.status = None
    there.command(Suspend())
    answered = CommandAnswered(CommandId(1), CommandOutcome.ACCEPTED)
    assert set(there.wait_for(lambda seen: len(seen) == 3)) == {failed(1), answered}
    run.line.close()


@pytest.mark.parametrize(("status", "code"), FINAL)
def test_commands_end_with_the_run(there: ControlPlane, status: int, code: str) -> None:
    there.status, there.code = status, code
    assert LinkClient(address(there)).commands(after=CommandId(0), wait_s=0.0).refused


def test_a_wrong_token_gets_nothing_through(there: ControlPlane, tmp_path: Path) -> None:
    run = Run(tmp_path, address(there, "another-token"))
    run.spool.append(failed(1))
    run.line.close()
    assert there.events == []


@pytest.mark.parametrize("away", ["down", "silent", "refusing"])
def test_closing_never_waits_for_long(there: ControlPlane, tmp_path: Path, away: str) -> None:
    if away == "down":
        there.close()
    elif away == "refusing":
        there.status = 503
    else:
        there.silent = True
    run = Run(tmp_path, address(there), farewell_s=0.5)
    run.spool.append(failed(1))
    began = time.monotonic()
    run.line.close()
    assert time.monotonic() - began < 10.0
    assert len(list(leftover(tmp_path / "run"))) == 1


def test_a_line_that_was_never_started_can_be_closed(there: ControlPlane, tmp_path: Path) -> None:
    spool = Spool(tmp_path / "run", wall_ms=lambda: 1)
    ControlPlaneLine(address(there), spool, lambda command: lambda: None, print).close()


@pytest.mark.parametrize(
    "url", ["", "weir.example/runs/1", "ftp://weir.example/runs/1", "http:///runs/1", "http://me:secret@weir.example/runs/1",
            "http://weir.example/runs/1?x=1"],
)  # fmt: skip
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="no address of a run"):
        LinkAddress(url, TOKEN)


@pytest.mark.parametrize("token", ["", "two\nlines", "ümlaut"])
def test_what_is_no_token_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(ConfigError, match="the token of a run") as refused:
        LinkAddress("http://weir.example/runs/1", token)
    assert not token or token not in str(refused.value)


def test_a_token_shows_nowhere(there: ControlPlane) -> None:
    assert TOKEN not in repr(address(there)) and TOKEN not in str(address(there))
    assert TOKEN not in repr(LinkClient(address(there)))
