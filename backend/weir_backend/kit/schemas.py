"""Base classes and field types of requests and responses."""

from __future__ import annotations

from typing import Annotated, Any, Self

from fastapi import Path
from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from weir_backend.kit.listing import BIGINT_MAX


class RequestModel(BaseModel):
    """Base of requests. Unknown fields are refused, so that a typo does not silently become a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ResponseModel(BaseModel):
    """Base of responses, built from the attributes of an object."""

    model_config = ConfigDict(from_attributes=True, frozen=True)

    @classmethod
    def read(cls, row: object, **others: Any) -> Self:
        """Build the response from the attributes of ``row``. ``others`` contains values for fields that are not read from ``row``."""
        return cls(**{name: getattr(row, name) for name in cls.model_fields if name not in others}, **others)


def storable_text(text: str) -> str:
    """Return ``text``. Raises ValueError if Postgres cannot store the text."""
    if any(character == "\x00" or "\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("the text contains U+0000 or an unpaired surrogate, which cannot be stored")
    return text


StorableText = Annotated[str, AfterValidator(storable_text)]
ShortText = Annotated[str, StringConstraints(max_length=200), AfterValidator(storable_text)]
LongText = Annotated[str, StringConstraints(max_length=10_000), AfterValidator(storable_text)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", min_length=1, max_length=100)]
"""Names of jobs, webhooks and labels, which appear in paths and commands."""
Id = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
