"""The job of the demo that keeps running: the flights of 2013, departing at a steady rate, year after year."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from demo_input import prepare
from demo_scenarios import DemoFailed

if TYPE_CHECKING:
    from demo_platform_rig import Rig

LIVE = "demo-live"
RATE = 400
"""Departures a second."""
YEARS = 200
"""Links to the same file, so they take no room: about two days of stream at ``RATE``."""
INTERVAL = "1s"
RETAINED = 60


class Live:
    """``root``: of the demo's files."""

    def __init__(self, root: Path) -> None:
        self._input = root / "input" / "years"
        self._output = root / "output" / "live"

    def prepare(self, flights: Path) -> None:
        """``flights``: the input of the bounded job."""

        def link(directory: Path) -> None:
            for year in range(YEARS):
                os.link(flights / "departures.parquet", directory / f"year-{year:03d}.parquet")

        prepare(self._input, link)

    def deploy(self, rig: Rig) -> None:
        """Goes on where an earlier demo has left it."""
        job = rig.find(LIVE)
        if job is not None and (job["state"] == "FINISHED" or not self._output.exists()):
            rig.forget(LIVE)
            job = None
        settings = {"input": self._input, "output": self._output, "rate": RATE}
        rig.weir(
            "deploy", "examples/flights.py", "--name", LIVE,
            *[part for name, value in settings.items() for part in ("--set", f"{name}={value}")],
            "--interval", INTERVAL, "--retained", str(RETAINED),
            "--description", "departures from New York, replayed year after year",
        )  # fmt: skip
        if job is not None and job["desired_state"] != "RUNNING":
            rig.weir("start", LIVE)

    def count(self) -> int:
        """Running counts that a reader of the output sees now. Raises DemoFailed if they are not, of each route, 1, 2, 3, ..."""
        committed = sorted((self._output / "routes").glob("*.parquet"))
        if not committed:
            raise DemoFailed(f"job '{LIVE}' has committed nothing to {self._output}")
        counts = pl.read_parquet(committed, columns=["origin", "dest", "flights"])
        odd = (
            counts.group_by("origin", "dest")
            .agg(
                rows=pl.len(),
                distinct=pl.col("flights").n_unique(),
                smallest=pl.col("flights").min(),
                largest=pl.col("flights").max(),
            )
            .filter((pl.col("rows") != pl.col("distinct")) | (pl.col("smallest") != 1) | (pl.col("largest") != pl.col("rows")))
        )
        if odd.height:
            raise DemoFailed(f"running counts of job '{LIVE}' that are lost or doubled: {odd.row(0, named=True)}")
        return counts.height
