"""ETag and If-Match: who changes something says which version of it he has seen."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Header, Response

from weir_backend.errors import Invalid, PreconditionFailed, PreconditionRequired

_ETAG = re.compile(r'(?:W/)?"(\d{1,18})"')


async def if_match(
    given: Annotated[
        str | None,
        Header(alias="If-Match", description='The ETag of the version that you have seen, for example `"7"`; `*`: whichever'),
    ] = None,
) -> str | None:
    """A dependency of endpoints that change something."""
    return given


def check_version(given: str | None, version: int) -> None:
    """Raises PreconditionRequired, Invalid, PreconditionFailed."""
    if given is None:
        raise PreconditionRequired(
            "if-match",
            "this changes something that others may have changed meanwhile",
            "send If-Match with the ETag that you got",
        )
    if given.strip() == "*":
        return
    seen = [_ETAG.fullmatch(one.strip()) for one in given.split(",")]
    if not all(seen):
        raise Invalid("invalid", f"If-Match: {given!r} is no ETag of ours")
    if version not in {int(one[1]) for one in seen if one is not None}:
        raise PreconditionFailed(
            "changed", f"it has changed since: it is version {version} now", "read it again, and decide again", version=version
        )


def etag(response: Response, version: int) -> None:
    response.headers["ETag"] = f'"{version}"'
