"""Computes delays per carrier and a running count per route from a stream of departures.

Input: Parquet with the columns carrier, origin, dest (string) and dep_delay (minutes, int64), in the order of departures.
Output: <output>/carriers and <output>/routes, both Parquet.
"""

from __future__ import annotations

from weir import Job, Params, agg, sinks, sources


def job(params: Params) -> Job:
    """The sink ``carriers`` receives one update per batch and carrier. The sink ``routes`` receives one update per flight."""
    output = params.path("output", help="a directory for the results")
    rate = params.int("rate", 0, help="departures per second; 0 means no limit")
    job = Job("flights")
    # One reader keeps the departures in order, so that the running count is the same in every run.
    departures = job.read(
        sources.parquet(params.path("input", help="a directory of flights"), rate=rate or None), uid="departures", parallelism=1
    )
    carriers = departures.key_by("carrier").aggregate(
        flights=agg.count(), delay=agg.mean("dep_delay"), worst=agg.max("dep_delay"), uid="per-carrier"
    )
    routes = departures.key_by("origin", "dest").aggregate(
        flights=agg.count(), minutes=agg.sum("dep_delay"), emit="each", uid="per-route"
    )
    carriers.write(sinks.parquet(f"{output}/carriers"), uid="carriers")
    routes.write(sinks.parquet(f"{output}/routes"), uid="routes")
    return job
