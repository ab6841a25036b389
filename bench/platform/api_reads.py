"""Latency of lists and details: each page read by one client, then by several clients at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from bench.platform.client import Answer
from bench.platform.endpoints import Page
from bench.platform.resource_usage import usage
from bench.platform.results import Aim, Measurement
from bench.platform.server import TemporaryControlPlane
from bench.results import percentile

P95_MS = 100.0
ROUNDS_MIN = 20
"""With fewer rounds than this, the 95th percentile is the maximum, so the benchmark does not evaluate the target."""


@dataclass(slots=True)
class ReadTimes:
    """``ms``: the response times of each page in milliseconds, in the order of the reads. ``errors``: the distinct errors."""

    ms: dict[Page, list[float]] = field(default_factory=dict)
    errors: set[str] = field(default_factory=set)

    def add(self, page: Page, answer: Answer) -> None:
        self.ms.setdefault(page, []).append(answer.took_s * 1000)
        if (problem := find_error(page, answer)) is not None:
            self.errors.add(problem)

    def merge(self, other: ReadTimes) -> None:
        for page, ms in other.ms.items():
            self.ms.setdefault(page, []).extend(ms)
        self.errors |= other.errors


def find_error(page: Page, answer: Answer) -> str | None:
    if answer.status != 200:
        return f"{page.path}: {answer.status} {answer.body[:200].decode(errors='replace')}"
    if page.rows is not None and (found := len(answer.json())) != page.rows:
        return f"{page.path}: {found} rows instead of {page.rows}"
    return None


def one_by_one(platform: TemporaryControlPlane, pages: Sequence[Page], rounds: int) -> list[Measurement]:
    """Return one measurement per endpoint, with its slowest page and its CPU time per request."""
    found = []
    for endpoint in dict.fromkeys(page.endpoint for page in pages):
        own = [page for page in pages if page.endpoint == endpoint]
        times = ReadTimes()
        with platform.client() as client:
            for page in own:
                client.get(page.path)  # The first request compiles and plans queries, so it does not count.
            before = usage(platform.api, platform.postgres)
            for _ in range(rounds):
                for page in own:
                    times.add(page, client.get(page.path))
            used = usage(platform.api, platform.postgres).since(before)
        requests = rounds * len(own)
        cpu = {"api_cpu_ms": 1000 * used.api / requests, "postgres_cpu_ms": 1000 * used.postgres / requests}
        found += measurements("one by one", times, endpoint, rounds, cpu)
    return found


def at_once(platform: TemporaryControlPlane, pages: Sequence[Page], rounds: int, clients: int, seed: int) -> list[Measurement]:
    """Each client reads all pages in its own random order."""
    times = [ReadTimes() for _ in range(clients)]

    def read(number: int) -> None:
        rng = random.Random(seed + number)
        with platform.client() as client:
            for _ in range(max(1, rounds // clients)):
                for page in rng.sample(pages, len(pages)):
                    times[number].add(page, client.get(page.path))

    _in_threads(read, clients)
    merged = ReadTimes()
    for one in times:
        merged.merge(one)
    each = clients * max(1, rounds // clients)
    return [
        one
        for endpoint in dict.fromkeys(page.endpoint for page in pages)
        for one in measurements(f"{clients} at once", merged, endpoint, each, {})
    ]


def until(platform: TemporaryControlPlane, pages: Sequence[Page], stop: threading.Event, seed: int) -> ReadTimes:
    """Read pages as a user does, with a short pause after each page, until ``stop`` is set."""
    rng, times = random.Random(seed), ReadTimes()
    with platform.client() as client:
        while not stop.is_set():
            for page in rng.sample(pages, min(len(pages), 20)):
                if stop.is_set():
                    break
                times.add(page, client.get(page.path))
                time.sleep(0.05)
    return times


def summary(ms: Iterable[float]) -> dict[str, float | int | str | bool | None]:
    values = list(ms)
    return {
        "requests": len(values),
        "p50_ms": percentile(values, 0.5),
        "p95_ms": percentile(values, 0.95),
        "p99_ms": percentile(values, 0.99),
    }


def measurements(how: str, times: ReadTimes, endpoint: str, rounds: int, more: dict[str, float]) -> list[Measurement]:
    """Return up to two measurements of an endpoint: one for all pages with a latency target, and one for all pages without a
    target."""
    found = []
    for aimed in (True, False):
        ms = {page: durations for page, durations in times.ms.items() if page.endpoint == endpoint and page.aimed is aimed}
        if not ms:
            continue
        slowest = max(ms, key=lambda page: percentile(ms[page], 0.95) or 0.0)
        slowest_ms = percentile(ms[slowest], 0.95) or 0.0
        values = summary(one for durations in ms.values() for one in durations)
        values |= {"pages": len(ms), "slowest": slowest.what, "slowest_p95_ms": slowest_ms, **(more if aimed else {})}
        judged = slowest_ms < P95_MS if rounds >= ROUNDS_MIN else None
        aim = Aim(f"p95 of each page < {P95_MS:.0f} ms", judged) if aimed else None
        problems = sorted(one for one in times.errors if any(one.startswith(f"{page.path}:") for page in ms))
        what = f"{endpoint}{'' if aimed else ', without a target'}, {how}"
        found.append(Measurement("reading", what, values, aim, "; ".join(problems) or None))
    return found


def _in_threads(call: Callable[[int], None], count: int) -> None:
    threads = [threading.Thread(target=call, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
