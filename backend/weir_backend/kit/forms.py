"""Pieces of requests and answers that several domains have."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from weir_backend.kit.listing import BIGINT_MAX


class Form(BaseModel):
    """Of a request: what is not known is refused, so that a slip of the pen is not taken for a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Shown(BaseModel):
    """Of an answer: read off attributes."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


def without_nul(text: str) -> str:
    """Raises ValueError for text that Postgres cannot keep."""
    if any(character == "\x00" or "\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("it has a character that no text can be kept with")
    return text


KeptText = Annotated[str, AfterValidator(without_nul)]
"""Text that Postgres can keep."""
ShortText = Annotated[str, StringConstraints(max_length=200), AfterValidator(without_nul)]
LongText = Annotated[str, StringConstraints(max_length=10_000), AfterValidator(without_nul)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", min_length=1, max_length=100)]
"""Of things that people name: it is part of paths and commands."""
Id = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
