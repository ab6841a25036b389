from __future__ import annotations

import json
from typing import get_args

import pytest
from tests.unit.link.link_examples import COMMANDS, EVENTS

from weir.errors import ProtocolError
from weir.protocol.events import (
    CheckpointCompleted,
    Event,
    FailureOccurred,
    NumberedCommand,
    NumberedEvent,
    UnknownCommand,
    decode_batch,
    decode_commands,
    encode_batch,
    encode_commands,
    encode_event,
)
from weir.protocol.ids import CommandId, EventNumber, Generation


def numbered(events: tuple[Event, ...], *, first: int = 1) -> list[NumberedEvent]:
    return [NumberedEvent(EventNumber(number), 1_700_000_000_000 + number, event) for number, event in enumerate(events, first)]


def test_every_kind_of_event_round_trips_through_its_encoding() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(Event))
    sent = numbered(EVENTS, first=41)
    assert decode_batch(encode_batch([encode_event(one) for one in sent])) == tuple(sent)


def test_the_completion_event_of_an_older_driver_does_not_contain_the_number_of_written_bytes() -> None:
    encoded = b'[[1, 2, "CheckpointCompleted", {"checkpoint": 7, "generation": 1, "trigger": "periodic", "end_to_end_ms": 31, '
    (decoded,) = decode_batch(encoded + b'"state_bytes": 4096, "subtasks": []}]]')
    assert isinstance(decoded.event, CheckpointCompleted) and decoded.event.checkpointed_bytes is None


def test_a_surrogate_in_a_reason_is_encoded_as_a_question_mark() -> None:
    (sent,) = numbered((FailureOccurred(Generation(1), "no such file: \udce9t\u00e9.csv"),))
    (decoded,) = decode_batch(encode_batch([encode_event(sent)]))
    assert decoded.event == FailureOccurred(Generation(1), "no such file: ?t\u00e9.csv")


def test_an_encoded_event_contains_no_line_break() -> None:
    assert not any(b"\n" in encode_event(one) for one in numbered(EVENTS))


def test_every_command_round_trips_and_an_unknown_command_keeps_its_name() -> None:
    sent = [NumberedCommand(CommandId(number), command) for number, command in enumerate(COMMANDS, 5)]
    assert decode_commands(encode_commands(sent)) == tuple(sent)
    newer = b'[[9, "NewCommand", {"sugar": true}]]'
    assert decode_commands(newer) == (NumberedCommand(CommandId(9), UnknownCommand("NewCommand")),)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{}", b"\xff", b"[1]", b"[[1, 2, 3]]", b'[[0, 1, "Suspend", {}]]', b'[[1, 1, "Suspend", {}]]', b"[" * 100_000,
        b'[[1, 1, "CheckpointFailed", {"checkpoint": "7", "reason": ""}]]', b'[[true, 1, "GraphDeployed", {"graph": 1}]]',
        b'[[1, 1, "GraphDeployed", {"graph": 1}], [3, 1, "GraphDeployed", {"graph": 1}]]',
    ],
)  # fmt: skip
def test_an_invalid_batch_of_events_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_batch(data)


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[1]", b'[[1, "Cancel"]]', b'[[0, "Cancel", {}]]', b'[[1, 2, {}]]', b'[[1, "Cancel", {"now": true}]]',
     b'[[2, "Cancel", {}], [2, "Cancel", {}]]', b'[["2", "Cancel", {}]]'],
)  # fmt: skip
def test_an_invalid_list_of_commands_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_commands(data)


def test_a_batch_is_readable_json() -> None:
    (one,) = json.loads(encode_batch([encode_event(numbered(EVENTS[7:8])[0])]))
    assert one == [1, 1_700_000_000_001, "CheckpointFailed", {"checkpoint": 7, "reason": "declined by 2/1: disk full"}]
