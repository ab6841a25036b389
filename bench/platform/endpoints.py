"""The pages of the API that the benchmark reads. The pages are derived from the OpenAPI document, so that the benchmark
does not miss new endpoints.

A list is read with each sort field in both directions, and with each filter for which some row has a value. Each list is read for
all jobs and for the largest job, at its first and last pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from bench.platform.client import Client
from weir_backend.kit.clock import now

DOCUMENT = "/api/v1/openapi.json"
LEFT_OUT: Mapping[str, str] = {
    "stream_job_events": "a stream; the part 'streams' measures all streams",
    "stream_jobs": "a stream; the part 'streams' measures all streams",
    "wait_for_commands": "long poll that needs the token of a run",
    "get_delivery": "needs a webhook delivery, and the benchmark has none",
    "begin_oidc_session": "needs an external OIDC provider",
    "finish_oidc_session": "needs an external OIDC provider",
}
PROMETHEUS = "get_metrics"
"""This endpoint is neither a list nor a detail: one response covers all jobs. Clients read this endpoint only a few times per
minute, so the latency target does not apply."""
PAGE = 25
COUNTED_MAX = 10_000
"""The largest number of rows that the API counts for a list."""
_FILTER_VALUES: Mapping[str, Any] = {"q": "orders", "live": True, "needs_attention": True}
"""Filters whose names are not fields of a row, with the values for the requests."""
_NUMBERS: Mapping[str, int] = {"number": 1, "before": 1, "after": 2}
"""Version numbers of a spec. Each job has two."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page to read. ``rows``: the expected number of rows. None means that the page is not a list. ``aimed``: whether the
    latency target applies. The latency target applies neither to the rows of a list after the first ``COUNTED_MAX``
    rows nor to endpoints that are read rarely."""

    endpoint: str
    what: str
    path: str
    rows: int | None = None
    aimed: bool = True


@dataclass(slots=True)
class ReadablePages:
    """``unknown``: an error message for each endpoint with an unknown path parameter. ``left_out``: endpoints that are not
    measured, with the reason."""

    pages: list[Page] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def readable_pages(client: Client, *, largest: int, totals: Mapping[str, int]) -> ReadablePages:
    """Return all pages to read. ``totals``: numbers of rows by endpoint, for lists that can exceed ``COUNTED_MAX`` rows."""
    document = client.get(DOCUMENT).json()
    known, unknown = readable_paths(document)
    found = ReadablePages(unknown=unknown, left_out=[f"{name}: {reason}" for name, reason in LEFT_OUT.items()])
    finder = _Ids(client, _lists(document), largest)
    for name, (path, parameters) in known.items():
        try:
            address = finder.fill_in(path)
        except LookupError as problem:
            found.left_out.append(f"{name}: {problem.args[0]}")
            continue
        if "range" in parameters:
            found.pages += _List(client, name, address, largest, totals.get(name), found.left_out).pages()
        else:
            found.pages += [
                Page(name, what, address + query, aimed=name != PROMETHEUS) for what, query in _variants(name, finder)
            ]
    return found


def readable_paths(document: dict[str, Any]) -> tuple[dict[str, tuple[str, list[str]]], list[str]]:
    """Return the path and the parameters of each GET to measure, keyed by the name of the GET. Also return an error message
    for each endpoint with an unknown path parameter."""
    lists = _lists(document)
    known, unknown = {}, []
    for name, path, parameters in _reads(document):
        if name in LEFT_OUT:
            continue
        unknown_parameters = [
            one for one in re.findall(r"\{(\w+)\}", path) if one not in _NUMBERS and _resource(one) not in lists
        ]
        if unknown_parameters:
            unknown.append(
                f"{name}: unknown path parameter {{{unknown_parameters[0]}}}. Add the parameter to bench/platform/endpoints.py."
            )
        else:
            known[name] = (path, parameters)
    return known, unknown


def _reads(document: dict[str, Any]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield name, path and parameters of each GET."""
    for path, methods in document["paths"].items():
        if "get" in methods:
            operation = methods["get"]
            yield operation["operationId"], path, [one["name"] for one in operation.get("parameters", ())]


def _lists(document: dict[str, Any]) -> dict[str, str]:
    """Return the path of each list that has no path parameter, by the name of its resource, such as ``jobs``."""
    return {
        path.rsplit("/", 1)[-1]: path for _, path, parameters in _reads(document) if "range" in parameters and "{" not in path
    }


def _resource(parameter: str) -> str:
    """Return the resource that a path parameter identifies: ``jobs`` for ``job_id``."""
    if parameter == "rule_id":
        return "alert-rules"
    return f"{parameter.removesuffix('_id')}s"


def _variants(name: str, finder: _Ids) -> list[tuple[str, str]]:
    """Return the variants in which an endpoint is measured. Each variant is a pair of description and query string."""
    match name:
        case "get_job_metrics":
            return [("15 minutes", ""), ("an hour", finder.since(3_600)), ("six hours", finder.since(6 * 3_600))]
        case "get_checkpoint_summary":
            return [("of the last 100", ""), ("of the last 10,000", "?last=10000")]
        case "read_log":
            return [("its beginning", ""), ("its end", "?offset=-4096")]
        case _:
            return [("", "")]


class _Ids:
    """Values of path parameters: the largest job, and the newest resources that belong to it."""

    def __init__(self, client: Client, lists: Mapping[str, str], largest: int) -> None:
        self._client = client
        self._lists = lists
        self._known: dict[str, int] = {"job_id": largest, **_NUMBERS}
        self._largest = largest

    def fill_in(self, path: str) -> str:
        """Replace the parameters of a path by ids of resources. Raises LookupError if there is no resource for a parameter."""
        return re.sub(r"\{(\w+)\}", lambda found: str(self._value(found[1])), path)

    def since(self, seconds: int) -> str:
        return f"?since={quote((now() - timedelta(seconds=seconds)).isoformat())}"

    def _value(self, name: str) -> int:
        if name not in self._known:
            self._known[name] = self._newest(_resource(name))
        return self._known[name]

    def _newest(self, resources: str) -> int:
        """Return the id of the newest resource. If resources belong to jobs, consider only the resources of the largest job."""
        for filter_ in (f"?filter={quote(json.dumps({'job_id': self._largest}))}", ""):
            answer = self._client.get(self._lists[resources] + filter_)
            if answer.status == 200 and answer.json():
                return int(answer.json()[0]["id"])
        raise LookupError(f"no {resources} exist")


class _List:
    def __init__(self, client: Client, name: str, path: str, largest: int, total: int | None, left_out: list[str]) -> None:
        self._client = client
        self._name = name
        self._path = path
        self._largest = largest
        self._total = total
        self._left_out = left_out

    def pages(self) -> list[Page]:
        sortable = self._fields("sort", '["?","ASC"]')
        filters = self._fields("filter", '{"?":0}')
        found = [self._page("first page", {})]
        found += self._sorted("", sortable, {})
        found += self._last("", {}, self._total)
        rows = self._client.get(self._path).json()
        if "job_id" in filters:
            of_job = {"job_id": self._largest}
            found.append(self._page("of a job", of_job))
            found += self._sorted("of a job, ", sortable, of_job)
            found += self._last("of a job, ", of_job, None)
        for name in filters:
            value = rows[0].get(name, _FILTER_VALUES.get(name)) if rows else None
            if value is None:
                self._left_out.append(f"{self._name}: no row has a value for the filter {name}")
            else:
                found.append(self._page(f"with {name}", {name: value}))
        return found

    def _fields(self, parameter: str, unknown: str) -> list[str]:
        """Return all field names. The API lists the field names when it refuses an unknown field."""
        answer = self._client.get(f"{self._path}?{parameter}={quote(unknown)}")
        _, known, names = answer.json()["detail"].partition("Known fields: ")
        assert answer.status == 422 and known, f"{self._path} does not list its fields: {answer.body!r}"
        return [name for name in names.removesuffix(".").split(", ") if name]

    def _sorted(self, prefix: str, fields: list[str], filter_: dict[str, Any]) -> Iterator[Page]:
        for name in fields:
            for direction, word in (("ASC", "up"), ("DESC", "down")):
                yield self._page(f"{prefix}by {name} {word}", filter_, sort=[name, direction])

    def _last(self, prefix: str, filter_: dict[str, Any], total: int | None) -> Iterator[Page]:
        """Yield the last page of the counted rows. If ``total``, the number of all rows, is known and exceeds
        ``COUNTED_MAX``, also yield the last page of all rows."""
        answer = self._client.get(self._address(filter_, None, 0))
        counted = int(answer.headers["Content-Range"].rpartition("/")[2])
        end = min(counted, COUNTED_MAX)
        if end > PAGE:
            what = "last page" if counted <= COUNTED_MAX else "last page that is counted"
            yield self._page(f"{prefix}{what}", filter_, first=end - PAGE)
        if total is not None and total > COUNTED_MAX:
            yield self._page(f"{prefix}last page of all", filter_, first=total - PAGE, aimed=False)

    def _page(
        self, what: str, filter_: dict[str, Any], *, sort: list[str] | None = None, first: int = 0, aimed: bool = True
    ) -> Page:
        path = self._address(filter_, sort, first)
        return Page(self._name, what, path, rows=self._rows(path), aimed=aimed)

    def _rows(self, path: str) -> int:
        answer = self._client.get(path)
        assert answer.status == 200, f"{path}: {answer.status} {answer.body[:300]!r}"
        return len(answer.json())

    def _address(self, filter_: dict[str, Any], sort: list[str] | None, first: int) -> str:
        given = {"range": [first, first + PAGE - 1]} | ({"filter": filter_} if filter_ else {}) | ({"sort": sort} if sort else {})
        return f"{self._path}?" + "&".join(f"{name}={quote(json.dumps(value))}" for name, value in given.items())
