"""Answers to drivers. What they send is defined in ``weir.protocol.events``."""

from __future__ import annotations

from pydantic import BaseModel


class Stored(BaseModel):
    """``stored``: number of the last event of this run that is here for good."""

    stored: int
