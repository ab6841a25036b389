"""Secrets as the API accepts and returns them. No response contains a value."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, Field, SecretStr, StringConstraints, model_validator

from weir.protocol.secret_references import SECRET_NAME, VALUE_BYTES_MAX
from weir_backend.kit.schemas import RequestModel, ResponseModel, ShortText


def _fitting(value: SecretStr) -> SecretStr:
    try:
        size = len(value.get_secret_value().encode())
    except UnicodeEncodeError:
        raise ValueError("the value is not valid Unicode text") from None
    if size > VALUE_BYTES_MAX:
        raise ValueError(f"the value has {size:,} bytes; the limit is {VALUE_BYTES_MAX:,}")
    return value


Value = Annotated[SecretStr, Field(min_length=1, max_length=VALUE_BYTES_MAX), AfterValidator(_fitting)]
SecretName = Annotated[str, StringConstraints(pattern=rf"^{SECRET_NAME}$")]


class SecretCreate(RequestModel):
    """A secret to create. A parameter of a job refers to the secret as `secret:NAME`. `value` has at most 32 KiB in UTF-8, and no request can
    read it."""

    name: SecretName
    value: Value
    description: ShortText = ""


class SecretUpdate(RequestModel):
    """Changes to a secret. Omitted fields keep their values. Jobs use a new `value` when they start the next time."""

    value: Value | None = None
    description: ShortText | None = None

    @model_validator(mode="before")
    @classmethod
    def _something(cls, given: Any) -> Any:
        if isinstance(given, dict) and not given:
            raise ValueError("Set at least one of value, description.")
        return given


class SecretRead(ResponseModel):
    """A secret, without its value. `created_by` and `updated_by` are ids of users. `value_changed_at` is when the value was set."""

    id: int
    name: str
    description: str
    version: int
    created_by: int | None
    created_at: datetime
    updated_by: int | None
    updated_at: datetime
    value_changed_at: datetime
