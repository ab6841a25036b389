"""The two jobs on bounded input whose output can be compared with a batch computation: what they read, write and have to equal."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import flights
import wordcount
from demo_input import prepare, write_flights, write_texts
from demo_oracle import Comparison, compare_flights, compare_words
from demo_telling import doing, say
from weir import Job, Params


class DemoFailed(Exception):
    """One message."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """``rate``: records a second, so that the stream takes seconds and several checkpoints complete."""

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
        """Parameters of the job."""
        return {"input": str(self.input), "output": str(self.output), "rate": self.rate}


def scenarios(root: Path) -> list[Scenario]:
    inputs, outputs = root / "input", root / "output"
    return [
        Scenario(
            job=flights.job,
            name="flights",
            records="departures",
            rate=80_000,
            input=inputs / "flights",
            output=outputs / "flights",
            make_input=write_flights,
            compare=compare_flights,
        ),
        Scenario(
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


def prepare_inputs(todo: list[Scenario]) -> None:
    for scenario in todo:
        if not scenario.input.exists():
            with doing(f"preparing {scenario.records} from installed packages (only the first time)"):
                prepare(scenario.input, scenario.make_input)


def verify(spark: SparkSession, todo: list[Scenario]) -> None:
    """Raises DemoFailed if anything differs."""
    say(f"comparing what {' and '.join(one.name for one in todo)} committed with Spark SQL over the same input, in one batch")
    unequal = []
    # Side by side, each with tables of its own: most of it is Spark making its plans.
    with ThreadPoolExecutor() as side_by_side:
        found = [side_by_side.submit(one.compare, spark.newSession(), one.input, one.output) for one in todo]
    for future in found:
        try:
            comparisons = future.result()
        except PySparkException as error:
            # Said now, as it can no longer say anything when Spark is closed.
            raise DemoFailed(f"Spark SQL could not compute the comparison: {error}") from None
        for comparison in comparisons:
            if comparison.equal:
                say(f"  EQUAL: {comparison.what}, all {comparison.rows:,} rows")
                continue
            unequal.append(comparison.what)
            say(f"  UNEQUAL: {comparison.what}, for example")
            for row in comparison.differing:
                say(f"    {row}")
    if unequal:
        raise DemoFailed(f"the committed output is not that of the batch computation: {', '.join(unequal)}")
