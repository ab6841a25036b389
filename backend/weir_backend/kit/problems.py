"""Problem responses, and their description in OpenAPI."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm.exc import StaleDataError
from starlette.exceptions import HTTPException

from weir_backend.errors import Problem

log = structlog.get_logger(__name__)
MEDIA_TYPE = "application/problem+json"


class ProblemDetails(BaseModel):
    """RFC 9457 problem details, with a `code` for programs and a `next_step` for users."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str
    next_step: str = ""


_TITLES = {
    400: "Bad request",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    410: "Gone",
    412: "Precondition failed",
    413: "Too large",
    415: "Unsupported media type",
    422: "Invalid",
    428: "Precondition required",
    429: "Too many requests",
    500: "Internal error",
    503: "Unavailable",
}


_LOST_RACES = {"23503", "23505"}
"""SQLSTATEs foreign_key_violation and unique_violation."""


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the problem responses of a route for ``responses=``."""
    if 401 in statuses:
        statuses = (*statuses, 429)  # repeated requests with invalid tokens are rate-limited
    return {
        status: {
            "description": _TITLES[status],
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
        }
        for status in sorted(set(statuses))
    }


def problem_answer(
    status: int,
    code: str,
    detail: str,
    next_step: str = "",
    *,
    headers: Mapping[str, str] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> JSONResponse:
    body = {**(extra or {}), **problem_body(status, code, detail, next_step)}
    return JSONResponse(body, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def problem_body(status: int, code: str, detail: str, next_step: str = "") -> dict[str, Any]:
    return {
        "type": f"urn:weir:problem:{code}",
        "title": _TITLES.get(status, "Problem"),
        "status": status,
        "detail": detail,
        "code": code,
        "next_step": next_step,
    }


def install(app: FastAPI) -> None:
    """Install exception handlers that turn every exception of a request into a problem."""

    @app.exception_handler(Problem)
    def on_problem(_: Request, error: Problem) -> JSONResponse:
        return problem_answer(error.status, error.code, error.detail, error.next_step, headers=error.headers, extra=error.extra)

    @app.exception_handler(RequestValidationError)
    def on_invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return invalid_answer(error.errors())

    @app.exception_handler(HTTPException)
    def on_http(_: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 400:
            # A body that cannot be parsed (such as deeply nested JSON) is reported like a body with invalid values.
            return problem_answer(422, "invalid", str(error.detail))
        code = _TITLES.get(error.status_code, "problem").lower().replace(" ", "-")
        return problem_answer(error.status_code, code, str(error.detail), headers=error.headers)

    @app.exception_handler(PoolTimeout)
    @app.exception_handler(OperationalError)
    def on_database(_: Request, error: Exception) -> JSONResponse:
        log.warning("the database failed", problem=_first_line(error))
        return problem_answer(
            503,
            "database",
            "The database does not answer.",
            "Retry. If the problem persists, run weir doctor.",
            headers={"Retry-After": "2"},
        )

    @app.exception_handler(StaleDataError)
    @app.exception_handler(IntegrityError)
    def on_conflict(request: Request, error: Exception) -> JSONResponse:
        if isinstance(error, IntegrityError) and getattr(error.orig, "sqlstate", None) not in _LOST_RACES:
            return on_anything(request, error)
        # Services check the constraints before they write. If the database reports a violation after a successful check, another request
        # has changed the data between the check and the write.
        log.warning("a request lost a race", problem=_first_line(error))
        return problem_answer(409, "conflict", "Another request has just changed this resource or a related resource.", "Retry.")

    @app.exception_handler(Exception)
    def on_anything(_: Request, error: Exception) -> JSONResponse:
        # Format the traceback here, because structlog's renderer would include local variables, which can contain passwords.
        log.error("a request failed", exception="".join(traceback.format_exception(error)))
        return problem_answer(500, "internal", "Internal error of the control plane.", "See the log of the API for details.")


def invalid_answer(errors: Sequence[Any]) -> JSONResponse:
    """Return the response to validation errors of pydantic. The response does not repeat input values, because these can be secrets."""
    found = [
        {"where": ".".join(str(part) for part in one["loc"]), "what": str(one["msg"]).removeprefix("Value error, ")}
        for one in errors
    ]
    detail = "; ".join(f"{one['where']}: {one['what']}" for one in found[:3])
    return problem_answer(422, "invalid", detail or "The request is invalid.", extra={"errors": found})


def _first_line(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return str(cause).strip().split("\n", 1)[0]
