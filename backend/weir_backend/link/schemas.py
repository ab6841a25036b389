"""Responses to drivers. ``weir.protocol.events`` defines the events that drivers send."""

from __future__ import annotations

from pydantic import BaseModel


class EventAckRead(BaseModel):
    """`stored` is the number of the last durably stored event of the run."""

    stored: int
