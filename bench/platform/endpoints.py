"""What can be read from the API, from its own OpenAPI document: so no list and no detail is forgotten, and a new one is measured at once.

A list is read by each field that it can be sorted by, in both directions, by each filter for which some row gives a value, for all jobs
and for the largest one, its first page and its last.
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
    "follow_job": "a stream, measured as such",
    "follow_jobs": "a stream, measured as such",
    "wait_for_commands": "waits for a command, with the token of a run",
    "get_delivery": "a message to a webhook, of which the benchmark sends none",
    "begin_oidc_session": "another server's business",
    "finish_oidc_session": "another server's business",
}
PROMETHEUS = "get_metrics"
"""Of all jobs, some times a minute: neither a list nor a detail."""
PAGE = 25
COUNTED_MAX = 10_000
"""Lists say no larger total than that there are more."""
_KNOWN_WORDS: Mapping[str, Any] = {"q": "orders", "live": True, "needs_person": True}
"""Filters that are no fields of a row."""
_NUMBERS: Mapping[str, int] = {"number": 1, "before": 1, "after": 2}
"""Of versions of a spec: each job has two."""


@dataclass(frozen=True, slots=True)
class Page:
    """Something to be read. ``rows``: that it has to have; None: it is no list. ``aimed``: the aim holds for it; not for what lies where
    a list does not count any more, nor for what is asked for once in a while."""

    endpoint: str
    what: str
    path: str
    rows: int | None = None
    aimed: bool = True


@dataclass(slots=True)
class Readable:
    """``unknown``: endpoints that this file does not know how to call: an error of the benchmark. ``left_out``: what is not measured, and why."""

    pages: list[Page] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def readable(client: Client, *, largest: int, totals: Mapping[str, int]) -> Readable:
    """``totals``: rows of lists by their endpoint, where there are more than a list counts."""
    document = client.get(DOCUMENT).json()
    known, unknown = readable_paths(document)
    found = Readable(unknown=unknown, left_out=[f"{name}: {why}" for name, why in LEFT_OUT.items()])
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
    """Path and parameters of each GET that is measured, by its name; and what nobody knows how to call, with the reason."""
    lists = _lists(document)
    known, unknown = {}, []
    for name, path, parameters in _reads(document):
        if name in LEFT_OUT:
            continue
        riddles = [one for one in re.findall(r"\{(\w+)\}", path) if one not in _NUMBERS and _thing(one) not in lists]
        if riddles:
            unknown.append(f"{name}: what {{{riddles[0]}}} stands for is not known: tell it to bench/platform/endpoints.py")
        else:
            known[name] = (path, parameters)
    return known, unknown


def _reads(document: dict[str, Any]) -> Iterator[tuple[str, str, list[str]]]:
    """Name, path and parameters of each GET."""
    for path, methods in document["paths"].items():
        if "get" in methods:
            operation = methods["get"]
            yield operation["operationId"], path, [one["name"] for one in operation.get("parameters", ())]


def _lists(document: dict[str, Any]) -> dict[str, str]:
    """Paths of lists of everything, by what they list: ``jobs``."""
    return {
        path.rsplit("/", 1)[-1]: path for _, path, parameters in _reads(document) if "range" in parameters and "{" not in path
    }


def _thing(parameter: str) -> str:
    """What a parameter is the id of: ``jobs`` for ``job_id``."""
    if parameter == "rule_id":
        return "alert-rules"
    return f"{parameter.removesuffix('_id')}s"


def _variants(name: str, finder: _Ids) -> list[tuple[str, str]]:
    """Details that depend on more than an id."""
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
    """Values for the parameters in paths: of the largest job, and of what the lists show of it."""

    def __init__(self, client: Client, lists: Mapping[str, str], largest: int) -> None:
        self._client = client
        self._lists = lists
        self._known: dict[str, int] = {"job_id": largest, **_NUMBERS}
        self._largest = largest

    def fill_in(self, path: str) -> str:
        """Raises LookupError if the tables have nothing that a parameter could stand for."""
        return re.sub(r"\{(\w+)\}", lambda found: str(self._value(found[1])), path)

    def since(self, seconds: int) -> str:
        return f"?since={quote((now() - timedelta(seconds=seconds)).isoformat())}"

    def _value(self, name: str) -> int:
        if name not in self._known:
            self._known[name] = self._newest(_thing(name))
        return self._known[name]

    def _newest(self, things: str) -> int:
        """Of the largest job, if it is of jobs."""
        for filter_ in (f"?filter={quote(json.dumps({'job_id': self._largest}))}", ""):
            answer = self._client.get(self._lists[things] + filter_)
            if answer.status == 200 and answer.json():
                return int(answer.json()[0]["id"])
        raise LookupError(f"there are no {things} to show")


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
            value = rows[0].get(name, _KNOWN_WORDS.get(name)) if rows else None
            if value is None:
                self._left_out.append(f"{self._name}: no row has a value for the filter {name}")
            else:
                found.append(self._page(f"with {name}", {name: value}))
        return found

    def _fields(self, parameter: str, unknown: str) -> list[str]:
        """Names of all, which the refusal of an unknown one tells."""
        answer = self._client.get(f"{self._path}?{parameter}={quote(unknown)}")
        _, told, names = answer.json()["detail"].partition("; there are ")
        assert answer.status == 422 and told, f"{self._path} does not say which fields it has: {answer.body!r}"
        return [name for name in names.split(", ") if name]

    def _sorted(self, prefix: str, fields: list[str], filter_: dict[str, Any]) -> Iterator[Page]:
        for name in fields:
            for direction, word in (("ASC", "up"), ("DESC", "down")):
                yield self._page(f"{prefix}by {name} {word}", filter_, sort=[name, direction])

    def _last(self, prefix: str, filter_: dict[str, Any], total: int | None) -> Iterator[Page]:
        """``total``: if there are more than are counted."""
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
