"""An application for spark-submit. It runs the small job until its input ends. Arguments: directory of the job, rows per
second, seconds between checkpoints (0: only a final checkpoint)."""

from __future__ import annotations

import sys
import threading

import small_job
from pyspark import SparkContext

import weir


def announce(run: weir.JobRun) -> None:
    """Print a line when the job has read records. The main thread waits for the job meanwhile."""
    while run.is_active and not run.status["records"]:
        run.await_termination(0.05)
    print("running", flush=True)


if __name__ == "__main__":
    root, rate, interval_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    run = weir.run(
        small_job.job,
        params={"input": f"{root}/input", "output": f"{root}/output", "rate": rate},
        checkpoint_dir=f"{root}/checkpoints",
        resume=True,
        interval_s=interval_s or None,
        by_value=[small_job],
    )
    print(f"started on {SparkContext.getOrCreate().master}", flush=True)
    threading.Thread(target=announce, args=(run,)).start()
    run.await_termination()
    print(f"outcome {run.result().outcome}", flush=True)
