"""Weir: checkpointed streaming jobs inside Spark.

    from weir import Job, Params, agg, sinks, sources

Names are loaded at first use: importing ``weir`` imports neither pyspark nor other heavy libraries. Only ``run`` and ``JobRun``,
which start a job and control it, import pyspark.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weir.api import agg as agg
    from weir.api.job import Job as Job
    from weir.api.params import Params as Params
    from weir.api.stream import Stream as Stream
    from weir.connectors import sinks as sinks
    from weir.connectors import sources as sources
    from weir.secrets import Secret as Secret
    from weir.spark.job_run import JobRun as JobRun
    from weir.spark.job_run import run as run

__version__ = "0.1.0"

_NAMES: dict[str, tuple[str, str | None]] = {
    "Job": ("weir.api.job", "Job"),
    "Params": ("weir.api.params", "Params"),
    "Secret": ("weir.secrets", "Secret"),
    "Stream": ("weir.api.stream", "Stream"),
    "agg": ("weir.api.agg", None),
    "run": ("weir.spark.job_run", "run"),
    "JobRun": ("weir.spark.job_run", "JobRun"),
    "sinks": ("weir.connectors.sinks", None),
    "sources": ("weir.connectors.sources", None),
}
__all__ = ["Job", "JobRun", "Params", "Secret", "Stream", "__version__", "agg", "run", "sinks", "sources"]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'weir' has no attribute {name!r}")
    module, attribute = _NAMES[name]
    loaded = importlib.import_module(module)
    value = loaded if attribute is None else getattr(loaded, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
