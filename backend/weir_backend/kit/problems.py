"""Problems as answers, and as OpenAPI describes them."""

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


class ProblemBody(BaseModel):
    """RFC 9457, with a code for programs and a next step for people."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str
    next_step: str = ""


class FieldProblem(BaseModel):
    where: str
    what: str


_TITLES = {
    400: "Bad request",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    410: "Gone",
    412: "Changed meanwhile",
    413: "Too large",
    415: "Unsupported media type",
    422: "Invalid",
    428: "Precondition required",
    429: "Too many requests",
    500: "Internal error",
    503: "Unavailable",
}


_LOST_RACES = {"23503", "23505"}
"""Of Postgres: a row that this refers to is gone, a row like this is there already."""


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For ``responses=`` of a route: that it may answer with these problems."""
    if 401 in statuses:
        statuses = (*statuses, 429)  # who sends tokens that are not valid is asked to wait, sooner or later
    return {
        status: {
            "description": _TITLES[status],
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}},
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
    """All that can be raised in a request becomes a problem."""

    @app.exception_handler(Problem)
    def on_problem(_: Request, error: Problem) -> JSONResponse:
        return problem_answer(error.status, error.code, error.detail, error.next_step, headers=error.headers, extra=error.extra)

    @app.exception_handler(RequestValidationError)
    def on_invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return invalid_answer(error.errors())

    @app.exception_handler(HTTPException)
    def on_http(_: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 400:
            # What cannot be parsed at all (nested too deeply, say), as what is parsed and wrong.
            return problem_answer(422, "invalid", str(error.detail))
        code = _TITLES.get(error.status_code, "problem").lower().replace(" ", "-")
        return problem_answer(error.status_code, code, str(error.detail), headers=error.headers)

    @app.exception_handler(PoolTimeout)
    @app.exception_handler(OperationalError)
    def on_database(_: Request, error: Exception) -> JSONResponse:
        log.warning("the database does not serve", problem=_first_line(error))
        return problem_answer(
            503,
            "database",
            "the database does not answer",
            "try again; if it stays so: weir doctor",
            headers={"Retry-After": "2"},
        )

    @app.exception_handler(StaleDataError)
    @app.exception_handler(IntegrityError)
    def on_conflict(request: Request, error: Exception) -> JSONResponse:
        if isinstance(error, IntegrityError) and getattr(error.orig, "sqlstate", None) not in _LOST_RACES:
            return on_anything(request, error)
        # Services look before they write: what they saw was changed by another request between the two.
        log.warning("a request has lost a race", problem=_first_line(error))
        return problem_answer(409, "conflict", "somebody else has changed this, or what it refers to, just now", "try again")

    @app.exception_handler(Exception)
    def on_anything(_: Request, error: Exception) -> JSONResponse:
        # As text: a renderer that shows local variables, as structlog's own does, would show passwords.
        log.error("a request has failed", exception="".join(traceback.format_exception(error)))
        return problem_answer(500, "internal", "something is wrong with the control plane; its log says what")


def invalid_answer(errors: Sequence[Any]) -> JSONResponse:
    """Of pydantic. What was sent is not repeated: it may be a secret."""
    found = [{"where": ".".join(str(part) for part in one["loc"]), "what": str(one["msg"])} for one in errors]
    detail = "; ".join(f"{one['where']}: {one['what']}" for one in found[:3])
    return problem_answer(422, "invalid", detail or "the request is invalid", extra={"errors": found})


def _first_line(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return str(cause).strip().split("\n", 1)[0]
