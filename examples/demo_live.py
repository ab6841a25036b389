"""The unbounded job of the demo. This job reads the flights of 2013 again and again at a steady rate."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from demo_input import prepare
from demo_scenarios import DemoFailed

if TYPE_CHECKING:
    from demo_platform import DemoPlatform

LIVE = "demo-live"
RATE = 400
"""Departures per second."""
YEARS = 200
"""The number of input files, which are hard links to one file and so need no space.

The job reads all input files in about two days, at ``RATE`` departures per second.
"""
INTERVAL = "1s"
RETAINED = 60


class Live:
    """The live job. ``root`` is the directory of the demo's files."""

    def __init__(self, root: Path) -> None:
        self._input = root / "input" / "years"
        self._output = root / "output" / "live"

    def prepare(self, flights: Path) -> None:
        """Create the input from ``flights``, the input directory of the bounded job."""

        def link(directory: Path) -> None:
            for year in range(YEARS):
                os.link(flights / "departures.parquet", directory / f"year-{year:03d}.parquet")

        prepare(self._input, link)

    def deploy(self, platform: DemoPlatform) -> None:
        """Deploy the live job. If an earlier demo suspended this job, resume it."""
        job = platform.find(LIVE)
        if job is not None and (job["state"] == "FINISHED" or not self._output.exists()):
            platform.delete(LIVE)
            job = None
        settings = {"input": self._input, "output": self._output, "rate": RATE}
        platform.weir(
            "deploy", "examples/flights.py", "--name", LIVE,
            *[part for name, value in settings.items() for part in ("--set", f"{name}={value}")],
            "--interval", INTERVAL, "--retained", str(RETAINED),
            "--description", "departures from New York, replayed year after year",
        )  # fmt: skip
        if job is not None and job["desired_state"] != "RUNNING":
            platform.weir("start", LIVE)

    def count(self) -> int:
        """Return the number of committed output rows. Each row contains the running count of flights of one route.

        Raises DemoFailed if there is no output, or if the running counts of a route are not 1, 2, 3 and so on.
        """
        # Search the output directory and its subdirectories. Older versions of Weir, which ``make upgrade-check`` runs, write
        # files directly to the output directory.
        files = sorted((self._output / "routes").rglob("*.parquet"))
        committed = [file for file in files if "_weir" not in file.parts]
        if not committed:
            raise DemoFailed(f"Job '{LIVE}' has committed nothing to {self._output}")
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
            raise DemoFailed(
                f"The output of job '{LIVE}' is wrong: the counts of a route are not 1, 2, 3 and so on: {odd.row(0, named=True)}"
            )
        return counts.height
