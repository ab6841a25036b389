"""A batch of events as it comes in: bytes that anybody with a token may have made."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from weir.errors import ProtocolError
from weir.protocol.events import NumberedEvent, decode_batch
from weir_backend.kit.listing import BIGINT_MAX

# Numbers that a column cannot hold have many digits before the point, or a large exponent. Most batches have neither.
_SUSPECT = re.compile(rb"(?<![\d.])\d{19}|\d[eE]\+?\d{3}")


def decode(body: bytes) -> tuple[NumberedEvent, ...]:
    """At least one event. Raises ProtocolError, also for numbers that are too large to be kept."""
    events = decode_batch(body)
    if not events:
        raise ProtocolError("a batch has at least one event")
    if _SUSPECT.search(body):
        _check_numbers(json.loads(body))
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
