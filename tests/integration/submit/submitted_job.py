"""An application for spark-submit. It runs the small job until its input ends. Arguments: directory of the job, rows per second."""

from __future__ import annotations

import sys

import small_job
from pyspark import SparkContext

import weir

if __name__ == "__main__":
    root, rate = sys.argv[1], int(sys.argv[2])
    run = weir.run(
        small_job.job,
        params={"input": f"{root}/input", "output": f"{root}/output", "rate": rate},
        checkpoint_dir=f"{root}/checkpoints",
        resume=True,
        interval_s=0.2,
        by_value=[small_job],
    )
    print(f"started on {SparkContext.getOrCreate().master}", flush=True)
    run.checkpoint()
    print("checkpoint", flush=True)
    run.await_termination()
    print(f"outcome {run.result().outcome}", flush=True)
