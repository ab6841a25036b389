"""An unbounded job. A simulated service computes the prices of orders, one request per batch, and the orders are counted per customer.

While the file ``closed`` exists, the service does not answer, so records and barriers queue up in front of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

from weir import Job, Params, agg, sinks, sources

CUSTOMERS = 40
ORDER_BYTES = 40_000
"""Size of an order. Orders are large, so that they fill channels of several megabytes within seconds."""
POLL_S = 0.02


def job(params: Params) -> Job:
    """For each order, emit the customer's number of orders and total price so far."""
    rate = params.int("rate", 100, help="orders per second")
    closed = params.path("closed", help="the price service does not answer while this file exists")
    job = Job("orders")
    columns = {"customer": sources.uniform_ints(distinct=CUSTOMERS), "pieces": sources.ints(1, 10)}
    read = job.read(sources.generator(columns, rate=rate), uid="orders", name="orders")
    orders = read.with_columns(paper=pl.lit("x" * ORDER_BYTES)).options(name="paper")
    # The rebalance creates channels in which orders can wait for the price service.
    priced = orders.rebalance().map_batches(
        pricing(closed), schema={"customer": int, "price": int}, blocking=True, uid="prices", name="prices"
    )
    counted = priced.key_by("customer").aggregate(orders=agg.count(), spent=agg.sum("price"), emit="each", uid="per-customer")
    counted.options(name="per customer").write(sinks.parquet(params.path("output")), uid="out", name="out")
    return job


def pricing(closed: str | Path) -> Callable[[pl.DataFrame], pl.DataFrame]:
    closed_file = Path(closed)

    def price(orders: pl.DataFrame) -> pl.DataFrame:
        while closed_file.exists():
            time.sleep(POLL_S)
        return orders.select("customer", price=pl.col("pieces") * 7)

    return price
