"""Lists as react-admin's simple-rest asks for them: ``sort=["field","ASC"]&range=[0,24]&filter={}``, answered with Content-Range."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from fastapi import Query, Response
from sqlalchemy import ColumnElement, Select, SQLColumnExpression, func, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import InstrumentedAttribute, Session

from weir_backend.errors import Invalid
from weir_backend.kit.json_form import clean_text

ROWS_MAX = 500
COUNTED_MAX = 10_000
"""Beyond that a list only says that there are more: counting a million rows takes longer than showing some."""
DEEP = 1_000
"""From so many rows before it on a page is deep."""
FIRST_MAX = 2_000_000
"""No page begins behind so many rows: whoever wants all of a long list goes through it by ids."""
_GO_ON = (
    'narrow it by a filter; to go through all of it, sort by ["id","ASC"] and go on with the filter {"after_id": <the last id>}'
)
"""Filters of every list, beside its own: ``after_id`` and ``before_id``."""
_CANCELED = "57014"
"""Of Postgres: a statement took longer than it may."""
BIGINT_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a list that somebody wants."""

    sort: tuple[str, bool] | None
    """Field, and whether descending."""
    first: int
    count: int
    filter: Mapping[str, Any]


async def listing(
    sort: Annotated[str | None, Query(description='`["field","ASC"]` or `["field","DESC"]`', examples=['["id","DESC"]'])] = None,
    range_: Annotated[
        str | None, Query(alias="range", description="`[first,last]`, both included, from 0", examples=["[0,24]"])
    ] = None,
    filter_: Annotated[str | None, Query(alias="filter", description="`{field: value}`", examples=["{}"])] = None,
) -> Listing:
    """A dependency of list endpoints. Raises Invalid."""
    return Listing(_sort(sort), *_range(range_), _filter(filter_))


def _sort(given: str | None) -> tuple[str, bool] | None:
    if given is None:
        return None
    match _json(given, "sort"):
        case [str() as field, "ASC" | "DESC" as direction]:
            return field, direction == "DESC"
    raise Invalid("invalid", f'sort: {given!r} is not of the form ["field","ASC"]')


def _range(given: str | None) -> tuple[int, int]:
    if given is None:
        return 0, 25
    match _json(given, "range"):
        case [int() as first, int() as last] if (
            0 <= first <= last < BIGINT_MAX and not isinstance(first, bool) and not isinstance(last, bool)
        ):
            if first > FIRST_MAX:
                raise Invalid(
                    "too-deep", f"range: a page begins behind {FIRST_MAX:,} rows at most, this one behind {first:,}", _GO_ON
                )
            return first, min(last - first + 1, ROWS_MAX)
    raise Invalid("invalid", f"range: {given!r} is not of the form [0,24]")


def _filter(given: str | None) -> dict[str, Any]:
    if given is None:
        return {}
    found = _json(given, "filter")
    if isinstance(found, dict):
        return found
    raise Invalid("invalid", f"filter: {given!r} is not of the form {{field: value}}")


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Invalid("invalid", f"{name}: {text!r} is not JSON") from None


Condition = Callable[[Any], ColumnElement[bool]]


@dataclass(frozen=True, slots=True)
class Fields:
    """By what a list can be sorted and filtered, and in which order it comes if nobody says."""

    sortable: Mapping[str, InstrumentedAttribute[Any]]
    filters: Mapping[str, Condition]
    """Value to condition; each raises Invalid for a value that makes no sense."""
    default: tuple[str, bool]
    key: InstrumentedAttribute[int]
    """Decides between equals, so that pages do not overlap."""
    in_job: SQLColumnExpression[int] | None = None
    """Among rows of one job it grows with the key, and there is an index of it by job. Along the key itself the rows of all other jobs would
    be passed over."""


def page(
    session: Session, query: Select[Any], wanted: Listing, fields: Fields, response: Response, *, unit: str
) -> Sequence[Any]:
    """The rows of one page of ``query`` (of one entity), and Content-Range on the answer. Raises Invalid."""
    by_id = {
        "after_id": _compared("after_id", fields.key.__gt__),
        "before_id": _compared("before_id", fields.key.__lt__),
    }
    for name, value in wanted.filter.items():
        if name in by_id:
            query = query.where(by_id[name](value))
            continue
        if name not in fields.filters:
            raise Invalid("invalid", f"filter: there is no field {name!r}; there are {', '.join(sorted(fields.filters))}")
        query = query.where(fields.filters[name](value))
    name, descending = wanted.sort or fields.default
    if name not in fields.sortable:
        raise Invalid("invalid", f"sort: there is no field {name!r}; there are {', '.join(sorted(fields.sortable))}")
    column: SQLColumnExpression[Any] = fields.sortable[name]
    if fields.sortable[name] is fields.key and fields.in_job is not None and type(wanted.filter.get("job_id")) is int:
        column = fields.in_job
    order = (largest_first(column), fields.key.desc()) if descending else (column.asc(), fields.key.asc())
    counted = select(func.count()).select_from(query.with_only_columns(fields.key).limit(COUNTED_MAX + 1).subquery())
    if wanted.first < DEEP:
        query = query.offset(wanted.first).limit(wanted.count)
    else:
        # What comes before the page is passed over by keys alone; only rows of the page are read whole.
        keys = query.with_only_columns(fields.key).order_by(*order).offset(wanted.first).limit(wanted.count)
        query = query.where(fields.key.in_(keys.scalar_subquery()))
    try:
        total = session.scalar(counted)
        assert total is not None
        rows = session.scalars(query.order_by(*order)).all()
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", None) != _CANCELED:
            raise
        raise Invalid("too-much", f"it takes too long to find these {unit} among all there are", _GO_ON) from None
    content_range(response, unit, wanted.first, len(rows), total)
    return rows


def largest_first(column: SQLColumnExpression[Any]) -> ColumnElement[Any]:
    """Who asks for the largest does not ask for those that have none, which Postgres puts before them. Where there are none it is left as it
    is: an index goes backwards in its own order only."""
    return column.desc().nulls_last() if getattr(column, "nullable", False) else column.desc()


def _compared(name: str, compare: Callable[[int], ColumnElement[bool]]) -> Condition:
    def condition(value: Any) -> ColumnElement[bool]:
        if type(value) is not int or abs(value) > BIGINT_MAX:
            raise Invalid("invalid", f"filter: {name} is a number")
        return compare(value)

    return condition


def content_range(response: Response, unit: str, first: int, count: int, total: int) -> None:
    shown = f"{first}-{first + count - 1}" if count else "*"
    response.headers["Content-Range"] = f"{unit} {shown}/{total}"
    if total > COUNTED_MAX:
        response.headers["X-Total-At-Least"] = str(total)


_KINDS: Mapping[type, str] = {int: "a number", bool: "true or false", str: "a text"}


def equals(column: InstrumentedAttribute[Any], kind: type) -> Condition:
    """The column is the value, or one of a list of values."""

    def condition(value: Any) -> ColumnElement[bool]:
        values: list[Any] = value if isinstance(value, list) else [value]
        if not all(type(one) is kind for one in values) or (kind is int and any(abs(one) > BIGINT_MAX for one in values)):
            raise Invalid("invalid", f"filter: {column.key} is {_KINDS[kind]}")
        if kind is str and not all(map(_can_be_kept, values)):
            raise Invalid("invalid", f"filter: {column.key} has a character that no text here has")
        return column.in_(values)

    return condition


def one_of(column: InstrumentedAttribute[Any], words: type[StrEnum]) -> Condition:
    """The column is this word, or one of a list of words."""

    def condition(value: Any) -> ColumnElement[bool]:
        values: list[Any] = value if isinstance(value, list) else [value]
        known = {one.value for one in words}
        if not all(isinstance(one, str) and one in known for one in values):
            raise Invalid("invalid", f"filter: {column.key} is one of {', '.join(sorted(known))}")
        return column.in_([words(one) for one in values])

    return condition


def contains(column: InstrumentedAttribute[str]) -> Condition:
    """The column has this text in it, in whichever case."""

    def condition(value: Any) -> ColumnElement[bool]:
        if not isinstance(value, str) or not _can_be_kept(value):
            raise Invalid("invalid", f"filter: {column.key} is a text")
        return column.icontains(value, autoescape=True)

    return condition


def _can_be_kept(text: str) -> bool:
    """Postgres has it in its texts: no U+0000, no half of a surrogate pair."""
    return clean_text(text) == text
