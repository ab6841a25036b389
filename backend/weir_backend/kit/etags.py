"""Optimistic concurrency control with ETag and If-Match."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Depends, Header, Response

from weir_backend.errors import Invalid, PreconditionFailed, PreconditionRequired

_ETAG = re.compile(r'(?:W/)?"(\d{1,18})"')


async def if_match(
    given: Annotated[
        str | None,
        Header(alias="If-Match", description='The ETag of the version to change, for example `"7"`. `*`: any version.'),
    ] = None,
) -> str | None:
    """FastAPI dependency: the If-Match header."""
    return given


IfMatch = Annotated[str | None, Depends(if_match)]


def check_if_match(given: str | None, version: int) -> None:
    """Raises PreconditionRequired, Invalid, PreconditionFailed."""
    if given is None:
        raise PreconditionRequired(
            "if-match",
            "This request changes a resource and requires the header If-Match.",
            "Read the resource and send its ETag as If-Match.",
        )
    if given.strip() == "*":
        return
    seen = [_ETAG.fullmatch(one.strip()) for one in given.split(",")]
    if not all(seen):
        raise Invalid("invalid", f"If-Match: {given!r} is not an ETag of this API.")
    if version not in {int(one[1]) for one in seen if one is not None}:
        raise PreconditionFailed(
            "changed",
            f"The resource has changed: its version is now {version}.",
            "Read the resource again and repeat the change.",
            version=version,
        )


def set_etag(response: Response, version: int) -> None:
    response.headers["ETag"] = f'"{version}"'
