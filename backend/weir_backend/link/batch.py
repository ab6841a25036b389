"""A batch of events as it comes in: bytes that anybody with a token may have made."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from weir.errors import ProtocolError
from weir.protocol.events import NumberedEvent, RunStateChanged, decode_batch
from weir_backend.kit.listing import BIGINT_MAX
from weir_backend.runs import lifecycle

# Numbers that a column cannot hold have many digits, or a large exponent. Most batches have neither, and that is seen without parsing:
# with all digits made alike, it is a search for two words.
_ALIKE = bytes(ord("0") if chr(code) in "0123456789" else ord("e") if chr(code) in "eE" else ord(" ") for code in range(256))
_LONG, _EXPONENT = b"0" * 19, b"e000"


def decode(body: bytes) -> tuple[NumberedEvent, ...]:
    """At least one event. Raises ProtocolError, also for numbers that are too large to be kept."""
    events = decode_batch(body)
    if not events:
        raise ProtocolError("a batch has at least one event")
    alike = body.translate(_ALIKE, b"+")
    if _LONG in alike or _EXPONENT in alike:
        _check_numbers(json.loads(body))
    return events


def up_to_its_end(events: Sequence[NumberedEvent]) -> Sequence[NumberedEvent]:
    """Those up to the one by which the run says that it is over, if there is one."""
    for place, one in enumerate(events, 1):
        if isinstance(one.event, RunStateChanged) and lifecycle.of_driver(one.event.state) in lifecycle.FINAL:
            return events[:place]
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
            raise ProtocolError("a batch has a whole number in it that takes more than 64 bits")
        elif isinstance(one, float) and not math.isfinite(one):
            raise ProtocolError("a batch has a number in it that is too large")
