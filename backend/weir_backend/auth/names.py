"""What users are called and what their passwords look like, at the edges."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from weir_backend.kit.access import PLATFORM

NAME_PATTERN = r"^[\w.@+\-]+( [\w.@+\-]+)*$"
NAME_MAX = 100
PASSWORD_MIN, PASSWORD_MAX = 12, 1000


def fits(name: str) -> bool:
    """It may be the name of a user."""
    return len(name) <= NAME_MAX and re.fullmatch(NAME_PATTERN, name) is not None and name.lower() != PLATFORM.name


def _not_the_platform(name: str) -> str:
    if name.lower() == PLATFORM.name:
        raise ValueError("this is what the platform calls itself in the audit")
    return name


def _text(password: SecretStr) -> SecretStr:
    try:
        password.get_secret_value().encode()
    except UnicodeEncodeError:
        raise ValueError("this is no text: it has halves of characters") from None
    return password


UserName = Annotated[str, Field(min_length=1, max_length=NAME_MAX, pattern=NAME_PATTERN, examples=["alice"])]
NewUserName = Annotated[UserName, AfterValidator(_not_the_platform)]
GivenPassword = Annotated[SecretStr, Field(min_length=1, max_length=PASSWORD_MAX), AfterValidator(_text)]
NewPassword = Annotated[
    SecretStr,
    Field(min_length=PASSWORD_MIN, max_length=PASSWORD_MAX, description=f"At least {PASSWORD_MIN} characters"),
    AfterValidator(_text),
]
