"""Paged lists in the format of react-admin's simple-rest data provider. A request contains ``sort=["field","ASC"]&range=[0,24]&filter={}``,
and the response contains the header Content-Range."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from fastapi import Depends, Query, Response
from sqlalchemy import ColumnElement, Select, SQLColumnExpression, func, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import InstrumentedAttribute, Session

from weir_backend.errors import Invalid
from weir_backend.kit.jsonb import clean_text

ROWS_MAX = 500
COUNTED_MAX = 10_000
"""The maximum number of rows that are counted for a list. If a list has more rows than ``COUNTED_MAX``, the response only says that more
rows exist. Counting a million rows takes longer than reading a page."""
DEEP = 1_000
"""For a page at the offset ``DEEP`` or later, the query first reads only the keys of the rows."""
FIRST_MAX = 2_000_000
"""The maximum offset of a page. To read rows beyond the offset ``FIRST_MAX``, clients use the filter ``after_id`` or ``before_id``."""
_PAGING_HINT = (
    'Add a filter. To read the whole list, sort by ["id","ASC"] and request each page with the filter {"after_id": <last id>}.'
)
"""All lists have the filters ``after_id`` and ``before_id``."""
_CANCELED = "57014"
"""SQLSTATE query_canceled: the statement timed out."""
BIGINT_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Listing:
    """A request for one page of a list."""

    sort: tuple[str, bool] | None
    """The field to sort by, and True for descending order."""
    first: int
    count: int
    filter: Mapping[str, Any]


async def listing(
    sort: Annotated[str | None, Query(description='`["field","ASC"]` or `["field","DESC"]`', examples=['["id","DESC"]'])] = None,
    range_: Annotated[
        str | None, Query(alias="range", description="`[first,last]`, both inclusive and starting at 0", examples=["[0,24]"])
    ] = None,
    filter_: Annotated[str | None, Query(alias="filter", description="`{field: value}`", examples=["{}"])] = None,
) -> Listing:
    """FastAPI dependency of list endpoints. Raises Invalid."""
    return Listing(_sort(sort), *_range(range_), _filter(filter_))


ListingDep = Annotated[Listing, Depends(listing)]


def _sort(given: str | None) -> tuple[str, bool] | None:
    if given is None:
        return None
    match _json(given, "sort"):
        case [str() as field, "ASC" | "DESC" as direction]:
            return field, direction == "DESC"
    raise Invalid("invalid", f'sort: {given!r} does not have the form ["field","ASC"].')


def _range(given: str | None) -> tuple[int, int]:
    if given is None:
        return 0, 25
    match _json(given, "range"):
        case [int() as first, int() as last] if (
            0 <= first <= last < BIGINT_MAX and not isinstance(first, bool) and not isinstance(last, bool)
        ):
            if first > FIRST_MAX:
                raise Invalid("too-deep", f"range: the offset {first:,} is above the maximum of {FIRST_MAX:,}.", _PAGING_HINT)
            return first, min(last - first + 1, ROWS_MAX)
    raise Invalid("invalid", f"range: {given!r} does not have the form [0,24].")


def _filter(given: str | None) -> dict[str, Any]:
    if given is None:
        return {}
    found = _json(given, "filter")
    if isinstance(found, dict):
        return found
    raise Invalid("invalid", f"filter: {given!r} does not have the form {{field: value}}.")


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Invalid("invalid", f"{name}: {text!r} is not JSON.") from None


FilterClause = Callable[[Any], ColumnElement[bool]]


@dataclass(frozen=True, slots=True)
class Fields:
    """The sortable fields, the filters and the default order of a list."""

    sortable: Mapping[str, InstrumentedAttribute[Any]]
    filters: Mapping[str, FilterClause]
    """For each filter, a function that returns the SQL condition for a value. The function raises Invalid if the value is invalid."""
    default: tuple[str, bool]
    key: InstrumentedAttribute[int]
    """Rows that are equal in the sort order are sorted by ``key``, so that pages do not overlap."""
    in_job: SQLColumnExpression[int] | None = None
    """A column that orders the rows of one job in the same way as the key, and that has an index by job. If a list is filtered by job, the rows
    are sorted by ``in_job``, because sorting by the key would scan the rows of all jobs."""


def page(
    session: Session, query: Select[Any], wanted: Listing, fields: Fields, response: Response, *, unit: str
) -> Sequence[Any]:
    """Return the rows of one page of ``query`` (which selects one entity) and set Content-Range. Raises Invalid."""
    by_id = {
        "after_id": _compared("after_id", fields.key.__gt__),
        "before_id": _compared("before_id", fields.key.__lt__),
    }
    for name, value in wanted.filter.items():
        if name in by_id:
            query = query.where(by_id[name](value))
            continue
        if name not in fields.filters:
            raise Invalid("invalid", f"filter: unknown field {name!r}. Known fields: {', '.join(sorted(fields.filters))}.")
        query = query.where(fields.filters[name](value))
    name, descending = wanted.sort or fields.default
    if name not in fields.sortable:
        raise Invalid("invalid", f"sort: unknown field {name!r}. Known fields: {', '.join(sorted(fields.sortable))}.")
    column: SQLColumnExpression[Any] = fields.sortable[name]
    if fields.sortable[name] is fields.key and fields.in_job is not None and type(wanted.filter.get("job_id")) is int:
        column = fields.in_job
    order = (largest_first(column), fields.key.desc()) if descending else (column.asc(), fields.key.asc())
    counted = select(func.count()).select_from(query.with_only_columns(fields.key).limit(COUNTED_MAX + 1).subquery())
    if wanted.first < DEEP:
        query = query.offset(wanted.first).limit(wanted.count)
    else:
        # For the rows before the requested page, read only the keys. Read full rows only for the requested page.
        keys = query.with_only_columns(fields.key).order_by(*order).offset(wanted.first).limit(wanted.count)
        query = query.where(fields.key.in_(keys.scalar_subquery()))
    try:
        total = session.scalar(counted)
        assert total is not None
        rows = session.scalars(query.order_by(*order)).all()
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", None) != _CANCELED:
            raise
        raise Invalid("query-timeout", f"The query for these {unit} timed out.", _PAGING_HINT) from None
    content_range(response, unit, wanted.first, len(rows), total)
    return rows


def largest_first(column: SQLColumnExpression[Any]) -> ColumnElement[Any]:
    """Return a descending order with nulls last. By default, Postgres puts nulls first in a descending order. Keep the default order for a
    column without nulls, because Postgres can then read the index of the column backwards."""
    return column.desc().nulls_last() if getattr(column, "nullable", False) else column.desc()


def _compared(name: str, compare: Callable[[int], ColumnElement[bool]]) -> FilterClause:
    def condition(value: Any) -> ColumnElement[bool]:
        if type(value) is not int or abs(value) > BIGINT_MAX:
            raise Invalid("invalid", f"filter: {name} must be a number.")
        return compare(value)

    return condition


def content_range(response: Response, unit: str, first: int, count: int, total: int) -> None:
    span = f"{first}-{first + count - 1}" if count else "*"
    response.headers["Content-Range"] = f"{unit} {span}/{total}"
    if total > COUNTED_MAX:
        response.headers["X-Total-At-Least"] = str(total)


_KINDS: Mapping[type, str] = {int: "a number", bool: "true or false", str: "a string"}


def equals(column: InstrumentedAttribute[Any], kind: type) -> FilterClause:
    """Return a filter that selects rows whose column equals the given value, or one of a list of values."""

    def condition(value: Any) -> ColumnElement[bool]:
        values: list[Any] = value if isinstance(value, list) else [value]
        if not all(type(one) is kind for one in values) or (kind is int and any(abs(one) > BIGINT_MAX for one in values)):
            raise Invalid("invalid", f"filter: {column.key} must be {_KINDS[kind]}.")
        if kind is str and not all(map(_is_storable, values)):
            raise Invalid("invalid", f"filter: {column.key} contains a character that cannot be stored.")
        return column.in_(values)

    return condition


def flag(name: str, condition: Callable[[], ColumnElement[bool]], *, inverse: bool = False) -> FilterClause:
    """Return a boolean filter. The value true selects the rows for which the condition holds, and false selects the other rows. If ``inverse`` is
    True, false selects the rows for which the condition holds, and true selects the other rows. This avoids the double negation
    ``NOT (NOT EXISTS ...)``, which Postgres does not optimise."""

    def clause(value: Any) -> ColumnElement[bool]:
        if type(value) is not bool:
            raise Invalid("invalid", f"filter: {name} must be true or false.")
        return condition() if value is not inverse else ~condition()

    return clause


def one_of(column: InstrumentedAttribute[Any], enum: type[StrEnum]) -> FilterClause:
    """Return a filter that selects rows whose column equals the given enum value, or one of a list of enum values."""

    def condition(value: Any) -> ColumnElement[bool]:
        values: list[Any] = value if isinstance(value, list) else [value]
        known = {one.value for one in enum}
        if not all(isinstance(one, str) and one in known for one in values):
            raise Invalid("invalid", f"filter: {column.key} must be one of {', '.join(sorted(known))}.")
        return column.in_([enum(one) for one in values])

    return condition


def contains(column: InstrumentedAttribute[str]) -> FilterClause:
    """Return a filter that selects rows whose column contains the given string, ignoring case."""

    def condition(value: Any) -> ColumnElement[bool]:
        if not isinstance(value, str) or not _is_storable(value):
            raise Invalid("invalid", f"filter: {column.key} must be a string.")
        return column.icontains(value, autoescape=True)

    return condition


def _is_storable(text: str) -> bool:
    """Return whether Postgres can store the text, that is, whether it has no U+0000 and no unpaired surrogate."""
    return clean_text(text) == text
