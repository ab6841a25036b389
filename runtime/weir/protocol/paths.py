"""Paths in checkpoint storage that the runtime and the control plane share: the directory of a job, and manifests.

All other paths are in ``weir.storage.layout``.
"""

from __future__ import annotations

import re

import xxhash

from weir.errors import ConfigError
from weir.protocol.ids import CheckpointId, Generation

SEGMENT_CHARACTERS_MAX = 160
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_ENCODED = re.compile(r"\.([0-9a-f]{2})")
_SHORTENED = re.compile(r"[A-Za-z0-9_.-]{125,126}\.\.[0-9a-f]{32}")


def encode_segment(name: str) -> str:
    """Encode ``name`` in UTF-8, with every byte except letters, digits, ``_`` and ``-`` as ``.`` and two hex digits.

    A name that is too long for a file name is cut and ends in ``..`` and a checksum of the whole name. ``decode_segment`` cannot
    restore a shortened name, so it returns the segment unchanged. A job or an operator cannot have such a long name, so the
    result is never mistaken for one.
    """
    if not name:
        raise ConfigError("the name of a job or an operator must not be empty")
    if _SHORTENED.fullmatch(name):
        return name
    encoded = "".join(chr(byte) if byte in _PLAIN else f".{byte:02x}" for byte in name.encode())
    if len(encoded) <= SEGMENT_CHARACTERS_MAX:
        return encoded
    digest = xxhash.xxh3_128(name.encode()).hexdigest()
    return f"{encoded[: SEGMENT_CHARACTERS_MAX - 34].rstrip('.')}..{digest}"


def decode_segment(segment: str) -> str:
    """Return the name. A shortened name is returned unchanged."""
    if ".." in segment:
        return segment
    raw = _ENCODED.sub(lambda match: chr(int(match[1], 16)), segment)
    return raw.encode("latin-1").decode(errors="replace")


def job_root(job: str) -> str:
    """Return the directory of a job in checkpoint storage, with a trailing ``/``."""
    return f"{encode_segment(job)}/"


def manifest_path(checkpoint: CheckpointId, generation: Generation) -> str:
    """Return the path relative to the job's directory.

    A generation uses a checkpoint id only once, so two manifests never have the same path.
    """
    return f"checkpoints/{checkpoint}/manifest-g{generation}.json"
