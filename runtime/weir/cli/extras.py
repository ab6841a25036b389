"""Checks of optional dependencies. A command that needs a missing extra prints how to install the extra."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from weir.errors import ConfigError

DISTRIBUTION = "weir-streaming"
# The modules of the extra ``runtime``. pyproject.toml lists their distributions, and states the purpose of each.
RUNTIME = ("numba", "numpy", "obstore", "polars", "prometheus_client", "pyarrow", "pyspark", "xxhash")


def require_runtime() -> None:
    """Raise ConfigError if this installation cannot run jobs or read checkpoint directories."""
    require("the runtime", "runtime", RUNTIME)


def require(what: str, extra: str, modules: Sequence[str]) -> None:
    """Raise ConfigError if one of ``modules`` is missing. The extra ``extra`` installs these modules."""
    if missing := [name for name in modules if find_spec(name) is None]:
        raise ConfigError(
            f"This command needs {what}, which is not installed (missing: {', '.join(missing)}). "
            f'Install it: pip install "{DISTRIBUTION}[{extra}]"'
        )


def installed_version() -> str:
    """Return the version of the installed distribution, or ``unknown`` in a source tree that is not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"
