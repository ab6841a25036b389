"""Resumes the small job in a session of its own, and prints the outcome as JSON. Arguments: directory of the job."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import small_job
from pyspark.sql import SparkSession

import weir


def main(root: Path) -> None:
    spark = SparkSession.builder.master("local[3]").config("spark.ui.enabled", "false").getOrCreate()
    params = {"input": str(root / "input"), "output": str(root / "output")}
    slow = params | {"rate": 100}  # so that the job does not end before its savepoint
    run = weir.run(
        small_job.job, spark=spark, params=slow, checkpoint_dir=root / "checkpoints", resume=True, by_value=[small_job]
    )
    savepoint = run.stop(savepoint=True)
    run = weir.run(
        small_job.job, spark=spark, params=params, checkpoint_dir=root / "checkpoints", resume=True, by_value=[small_job]
    )
    run.await_termination()
    print(
        json.dumps(
            {"outcome": run.result().outcome, "savepoint": savepoint, "usable": spark.range(3).count(), "spark": spark.version}
        )
    )
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
