"""Orders, priced by a service that is asked batch by batch, and counted for each customer. It never ends.

As long as the file ``closed`` is there the service does not answer: what is on its way to it waits, and so do barriers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

from weir import Job, Params, agg, sinks, sources

CUSTOMERS = 40
ORDER_BYTES = 40_000
"""Of what an order comes with. Channels have room for some megabytes: they have to fill up within seconds."""
LOOK_EVERY_S = 0.02


def job(params: Params) -> Job:
    """A row for each order: the customer's orders so far, and what they cost."""
    rate = params.int("rate", 100, help="orders a second")
    closed = params.path("closed", help="while this file is there the price service does not answer")
    job = Job("orders")
    columns = {"customer": sources.uniform_ints(distinct=CUSTOMERS), "pieces": sources.ints(1, 10)}
    read = job.read(sources.generator(columns, rate=rate), uid="orders", name="orders")
    orders = read.with_columns(paper=pl.lit("x" * ORDER_BYTES)).options(name="paper")
    # Dealt out anew, so that what waits for the service waits in channels.
    priced = orders.rebalance().map_batches(
        pricing(closed), schema={"customer": int, "price": int}, blocking=True, uid="prices", name="prices"
    )
    counted = priced.key_by("customer").aggregate(orders=agg.count(), spent=agg.sum("price"), emit="each", uid="per-customer")
    counted.options(name="per customer").write(sinks.parquet(params.path("output")), uid="out", name="out")
    return job


def pricing(closed: str | Path) -> Callable[[pl.DataFrame], pl.DataFrame]:
    door = Path(closed)

    def price(orders: pl.DataFrame) -> pl.DataFrame:
        while door.exists():
            time.sleep(LOOK_EVERY_S)
        return orders.select("customer", price=pl.col("pieces") * 7)

    return price
