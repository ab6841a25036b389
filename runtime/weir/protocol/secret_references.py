"""References to secrets, as the parameters of jobs contain them: ``env:NAME``, ``file:/PATH`` or ``secret:NAME``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

SECRET_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
VALUE_BYTES_MAX = 32_768
"""Maximum size of the value of a secret, in UTF-8."""


class ReferenceKind(StrEnum):
    ENV = "env"
    """An environment variable of the process that uses the secret."""
    FILE = "file"
    """A file on the host of the process that uses the secret. The path is absolute."""
    SECRET = "secret"
    """A secret of the platform."""


_TARGETS = {
    ReferenceKind.ENV: r"[A-Za-z_][A-Za-z0-9_]*",
    ReferenceKind.FILE: r"/[^\x00-\x1f]+",
    ReferenceKind.SECRET: SECRET_NAME,
}
_REFERENCE = re.compile("|".join(f"{kind}:{target}" for kind, target in _TARGETS.items()))


@dataclass(frozen=True, slots=True)
class SecretReference:
    """``target`` is the name of the variable or of the secret, or the path of the file."""

    kind: ReferenceKind
    target: str

    @classmethod
    def parse(cls, text: object) -> Self | None:
        """Return the reference, or None if ``text`` is not a reference."""
        if not isinstance(text, str) or not _REFERENCE.fullmatch(text):
            return None
        kind, _, target = text.partition(":")
        return cls(ReferenceKind(kind), target)

    def __str__(self) -> str:
        return f"{self.kind}:{self.target}"


def platform_secrets(values: Iterable[object]) -> frozenset[str]:
    """Return the names of the secrets of the platform to which the values of parameters refer."""
    references = map(SecretReference.parse, values)
    return frozenset(one.target for one in references if one is not None and one.kind is ReferenceKind.SECRET)
