"""The process from which Spark forks Python workers. This process imports large modules once, before it forks.

Spark starts this module by name (``spark.python.daemon.module``) as ``python -m weir.spark.daemon pyspark.worker``. Each worker
is a fork of this process. So a worker starts without the imports, which take seconds, and all workers share the memory of the
modules.

This process must not start threads, because threads do not survive a fork and every worker would wait for them. Evaluating a polars
expression starts threads. Weir's compiled kernels start no threads, so this process runs them once, and workers inherit the
compiled code.
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

Modules that are not installed are skipped. So slots can also run in older or smaller executor environments, which lack some of
the modules. In such an environment, slots start more slowly.
"""


def set_kernel_cache() -> None:
    """Set the directory that caches compiled kernels. Call ``set_kernel_cache`` before numba is imported. A new directory is
    accessible only to the operating-system user that runs the executor."""
    if "NUMBA_CACHE_DIR" not in os.environ:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        cache = Path(base) / "weir" / "numba"
        try:
            cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return  # If the home directory is not writable (user nobody in a container), kernels are compiled at each start.
        os.environ["NUMBA_CACHE_DIR"] = str(cache)


def preload() -> None:
    for name in PRELOADED:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise  # The module exists, but one of its dependencies is missing.


def warm_up() -> None:
    """Run the compiled kernels once, so that workers inherit them. If compilation fails here, each slot tries again and reports
    its error."""
    try:
        from weir.subtask.program import warm_up as warm_kernels

        warm_kernels()
    except Exception:  # noqa: BLE001  # the slots report the error
        traceback.print_exc()


def main() -> None:
    """Run the daemon. ``main`` does not return. The daemon ends with the executor, which closes the daemon's standard input."""
    set_kernel_cache()
    preload()
    warm_up()
    # Exclude existing objects from garbage collection, so that their pages stay shared after the fork.
    gc.collect()
    gc.freeze()
    from pyspark import daemon

    daemon.traceback = QuietTraceback  # type: ignore[assignment, attr-defined]  # pyspark uses this name
    daemon.manager()


class QuietTraceback:
    """Replaces the module ``traceback`` in pyspark's daemon. Otherwise the daemon would print a traceback on the user's console
    when a worker ends."""

    format_exc = staticmethod(traceback.format_exc)

    @staticmethod
    def print_exc() -> None:
        # A closed connection is not an error, because Spark closes the connection to stop the worker.
        if not isinstance(sys.exception(), BrokenPipeError | ConnectionResetError):
            traceback.print_exc()


if __name__ == "__main__":
    main()
