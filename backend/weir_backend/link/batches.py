"""Decodes batches of events. The batches are untrusted, because any program with a run token can send them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from weir.errors import ProtocolError
from weir.protocol.events import NumberedEvent, RunStateChanged, decode_batch
from weir_backend.kit.listing import BIGINT_MAX
from weir_backend.runs import lifecycle

# A number that is too large for a column has at least 19 digits or an exponent of three digits. To find such a number without parsing the
# batch, replace every digit with "0". Then search for 19 zeros and for "e000". Most batches contain no number that is too large, so they
# are not parsed a second time.
_DIGITS_TO_ZERO = bytes(
    ord("0") if chr(code) in "0123456789" else ord("e") if chr(code) in "eE" else ord(" ") for code in range(256)
)
_LONG, _EXPONENT = b"0" * 19, b"e000"


def decode(body: bytes) -> tuple[NumberedEvent, ...]:
    """Decode a batch of at least one event. Raises ProtocolError for an invalid batch, and for numbers that are too large to store."""
    events = decode_batch(body)
    if not events:
        raise ProtocolError("a batch must contain at least one event")
    masked = body.translate(_DIGITS_TO_ZERO, b"+")
    if _LONG in masked or _EXPONENT in masked:
        _check_numbers(json.loads(body))
    return events


def until_final_state(events: Sequence[NumberedEvent]) -> Sequence[NumberedEvent]:
    """Return the events up to and including the event that ends the run."""
    for count, one in enumerate(events, 1):
        if isinstance(one.event, RunStateChanged) and lifecycle.from_driver_state(one.event.state) in lifecycle.FINAL:
            return events[:count]
    return events


def _check_numbers(value: Any) -> None:
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, list):
            todo.extend(one)
        elif isinstance(one, dict):
            todo.extend(one.values())
        elif isinstance(one, int) and abs(one) > BIGINT_MAX:
            raise ProtocolError("a batch contains an integer of more than 64 bits")
        elif isinstance(one, float) and not math.isfinite(one):
            raise ProtocolError("a batch contains a number that is too large")
