"""Unpacking the job's own functions in a slot."""

from __future__ import annotations

import pickle
from collections.abc import Mapping

from weir.errors import ConfigError
from weir.operators.bundle import CodeBundle


def load_code(code: Mapping[str, bytes], host: str) -> CodeBundle:
    """``code`` as in SlotBootstrap: it came with the Spark task, never through a socket of ours. Raises ConfigError for a
    module that is not here."""
    return CodeBundle({reference: _load(reference, data, host) for reference, data in code.items()})


def _load(reference: str, data: bytes, host: str) -> object:
    try:
        return pickle.loads(data)  # noqa: S301  # as above
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{reference}: its code needs the Python module {error.name!r}, which the executor on {host} does not have; install it "
            "on all executors, or put what the job needs of it into the job's own file, which travels with the job"
        ) from error
