"""The process that Spark forks Python workers from, with the heavy imports done once, before the fork.

Spark starts it by name (``spark.python.daemon.module``) as ``python -m weir.spark.daemon pyspark.worker``. A worker
then costs a fork instead of seconds of imports, and shares their memory.

Nothing may happen here that starts threads, as threads do not survive a fork and every worker would hang waiting for
them: evaluating a polars expression does. Weir's own compiled kernels do not; they are run once, so that forks inherit them.
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
    "weir.spark.task",
)
"""What a slot needs, as far as it is installed (an older or smaller executor environment still works, slower)."""


def settle_environment() -> None:
    """Before numba is imported: compiled kernels are kept in the executor's own cache, private to its user."""
    if "NUMBA_CACHE_DIR" not in os.environ:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        cache = Path(base) / "weir" / "numba"
        try:
            cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return  # No home to write to (a container's nobody): kernels are compiled anew, nothing else changes.
        os.environ["NUMBA_CACHE_DIR"] = str(cache)


def preload() -> None:
    for name in PRELOADED:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise  # Not the module itself is missing but something that it needs.


def warm() -> None:
    """Compiled kernels are inherited too: a replacement for a lost slot need not load them. Not running them here costs
    each slot that time, and nothing else, so what goes wrong is left to the slots to report."""
    try:
        from weir.subtask.warm import warm as warm_kernels

        warm_kernels()
    except Exception:  # noqa: BLE001  # see above
        traceback.print_exc()


def main() -> None:
    """Never returns: it ends with the executor, which holds its standard input open."""
    settle_environment()
    preload()
    warm()
    # What exists now lives as long as the process: keeping the collector off it keeps its pages shared after the fork.
    gc.collect()
    gc.freeze()
    from pyspark import daemon

    daemon.traceback = Complaints  # type: ignore[assignment, attr-defined]  # the name by which it prints
    daemon.manager()


class Complaints:
    """In place of the module ``traceback`` in pyspark's daemon: what it prints of a worker's end lands on the user's console."""

    format_exc = staticmethod(traceback.format_exc)

    @staticmethod
    def print_exc() -> None:
        # A worker that Spark has stopped finds its line to the executor closed: that is how it was meant to end.
        if not isinstance(sys.exception(), BrokenPipeError | ConnectionResetError):
            traceback.print_exc()


if __name__ == "__main__":
    main()
