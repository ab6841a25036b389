"""The two bounded jobs of the demos. The demos compare the output of these jobs with a batch computation."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import flights
import wordcount
from demo_console import say, step
from demo_input import prepare, write_flights, write_texts
from demo_oracle import Comparison, compare_flights, compare_words
from weir import Job, Params


class DemoFailed(Exception):
    """A step or a check failed. The error message states what failed."""


@dataclass(frozen=True, slots=True)
class DemoScenario:
    """A job with bounded input.

    ``rate`` limits the records per second, so that several checkpoints complete before the input ends.
    """

    job: Callable[[Params], Job]
    name: str
    records: str
    rate: int
    input: Path
    output: Path
    make_input: Callable[[Path], None]
    compare: Callable[[SparkSession, Path, Path], list[Comparison]]

    @property
    def file(self) -> str:
        return f"examples/{self.name}.py"

    @property
    def settings(self) -> dict[str, object]:
        """The parameters of the job."""
        return {"input": str(self.input), "output": str(self.output), "rate": self.rate}


def scenarios(root: Path) -> list[DemoScenario]:
    inputs, outputs = root / "input", root / "output"
    return [
        DemoScenario(
            job=flights.job,
            name="flights",
            records="departures",
            rate=30_000,
            input=inputs / "flights",
            output=outputs / "flights",
            make_input=write_flights,
            compare=compare_flights,
        ),
        DemoScenario(
            job=wordcount.job,
            name="wordcount",
            records="lines of text",
            rate=20_000,
            input=inputs / "texts",
            output=outputs / "wordcount",
            make_input=write_texts,
            compare=compare_words,
        ),
    ]


def prepare_inputs(selected: list[DemoScenario]) -> None:
    for scenario in selected:
        if not scenario.input.exists():
            with step(f"preparing {scenario.records} from installed packages (only the first time)"):
                prepare(scenario.input, scenario.make_input)


def verify(spark: SparkSession, selected: list[DemoScenario]) -> None:
    """Compare the output with Spark SQL. Raises DemoFailed if any output differs."""
    say(f"comparing the output of {' and '.join(one.name for one in selected)} with Spark SQL over the same input")
    unequal = []
    # Run the comparisons in parallel, each in its own Spark session, because they spend most of their time on query planning.
    with ThreadPoolExecutor() as executor:
        futures = [executor.submit(one.compare, spark.newSession(), one.input, one.output) for one in selected]
    for future in futures:
        try:
            comparisons = future.result()
        except PySparkException as error:
            # Convert the error to text before Spark is closed, because the error has no message afterwards.
            raise DemoFailed(f"Spark SQL failed to compute the comparison: {error}") from None
        for comparison in comparisons:
            if comparison.equal:
                say(f"  EQUAL: {comparison.what}, all {comparison.rows:,} rows")
                continue
            unequal.append(comparison.what)
            say(f"  UNEQUAL: {comparison.what}, for example")
            for row in comparison.differing:
                say(f"    {row}")
    if unequal:
        raise DemoFailed(f"The committed output differs from the batch computation: {', '.join(unequal)}")
