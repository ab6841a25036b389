"""Responses to drivers. ``weir.protocol.events`` defines the events that drivers send."""

from __future__ import annotations

from pydantic import BaseModel


class EventAckRead(BaseModel):
    """`stored` is the number of the last event of the run that is stored durably."""

    stored: int
