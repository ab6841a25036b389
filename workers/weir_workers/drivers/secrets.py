"""The secrets of the platform that the driver of a run receives. The driver reads them from a pipe, so that they are in no file, argument or
environment variable."""

from __future__ import annotations

import json
from dataclasses import asdict

from weir_backend.secrets.service import ProvidedSecrets

PIPE_BYTES_MAX = 60_000
"""A pipe of Linux holds 64 KiB. The launcher writes the whole document before the driver reads it."""


def document(provided: ProvidedSecrets) -> str | None:
    """Return the document that the driver reads (``weir.cli.run.ProvidedSecrets``), or None if the job uses no secrets of the platform."""
    if provided == ProvidedSecrets():
        return None
    found = json.dumps(asdict(provided), ensure_ascii=False)
    if len(found.encode()) > PIPE_BYTES_MAX:
        problem = f"The secrets of the platform to which the parameters refer are larger than {PIPE_BYTES_MAX:,} bytes together. Use file:."
        return json.dumps(asdict(ProvidedSecrets(problem=problem)))
    return found
