"""The process from which Spark forks Python workers. It imports large modules once, before the fork.

Spark starts it by name (``spark.python.daemon.module``) as ``python -m weir.spark.daemon pyspark.worker``. Starting a worker
then takes a fork instead of seconds of imports, and the workers share the memory of the modules.

This process must not start threads, because threads do not survive a fork and every worker would wait for them. Evaluating a polars
expression starts threads. Weir's compiled kernels do not; they run once here, so that workers inherit them.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import sys
import traceback
from pathlib import Path

PRELOADED = (
    "numpy",
    "pyarrow",
    "pyarrow.compute",
    "pyarrow.parquet",
    "polars",
    "numba",
    "xxhash",
    "structlog",
    "pyspark.worker",
    "weir.subtask",
    "weir.subtask.process",
    "weir.spark.spark_task",
)
"""Modules that a slot needs.

Missing modules are skipped, so that an older or smaller executor environment also works, although it starts slower.
"""


def set_kernel_cache() -> None:
    """Set the cache directory of compiled kernels, private to the executor's user. Call it before numba is imported."""
    if "NUMBA_CACHE_DIR" not in os.environ:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        cache = Path(base) / "weir" / "numba"
        try:
            cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return  # No writable home directory (for example user nobody in a container): kernels are compiled at each start.
        os.environ["NUMBA_CACHE_DIR"] = str(cache)


def preload() -> None:
    for name in PRELOADED:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise  # A dependency of the module is missing, not the module.


def warm_up() -> None:
    """Run the compiled kernels once, so that workers inherit them. If this fails, each slot compiles them again and reports the error."""
    try:
        from weir.subtask.program import warm_up as warm_kernels

        warm_kernels()
    except Exception:  # noqa: BLE001  # the slots report it
        traceback.print_exc()


def main() -> None:
    """Run the daemon. It never returns: it ends with the executor, which closes its standard input."""
    set_kernel_cache()
    preload()
    warm_up()
    # Exclude existing objects from garbage collection, so that their pages stay shared after the fork.
    gc.collect()
    gc.freeze()
    from pyspark import daemon

    daemon.traceback = QuietTraceback  # type: ignore[assignment, attr-defined]  # the name that pyspark uses
    daemon.manager()


class QuietTraceback:
    """Replaces the module ``traceback`` in pyspark's daemon, which would print ended workers on the user's console."""

    format_exc = staticmethod(traceback.format_exc)

    @staticmethod
    def print_exc() -> None:
        # This error is expected: the worker was stopped by Spark, which closed its connection.
        if not isinstance(sys.exception(), BrokenPipeError | ConnectionResetError):
            traceback.print_exc()


if __name__ == "__main__":
    main()
