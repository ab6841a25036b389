from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import json, sys
from pathlib import Path
from weir.spark import daemon
daemon.set_kernel_cache()
daemon.preload()
threads = [(thread / "comm").read_text().strip() for thread in Path("/proc/self/task").iterdir()]
print(json.dumps({"threads": threads, "loaded": [name for name in daemon.PRELOADED if name in sys.modules]}))
"""

HARMLESS = {"jemalloc_bg_thd", "polars-ooc-clea"}
"""Threads that libraries start only to return memory to the system or to delete temporary files. Forked workers do
not have these threads. ``test_local_slots`` checks that the libraries work in a forked worker."""


def test_preloading_libraries_does_not_start_thread_pools() -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "OPENBLAS_NUM_THREADS": "1"}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    result = json.loads(ran.stdout)
    assert [name for name in result["threads"] if name not in HARMLESS] == [Path(sys.executable).name[:15]]
    assert {"numpy", "pyarrow", "polars", "numba", "pyspark.worker", "weir.spark.spark_task"} <= set(result["loaded"])
