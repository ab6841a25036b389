"""Names in checkpoint storage that both planes give: who has the name of a job and the number of a checkpoint knows where its manifest is.

All the others are in ``weir.storage.layout``.
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
    """Every byte of UTF-8 other than a letter, digit, ``_`` or ``-`` becomes ``.`` and two hex digits.

    A name too long for a file name keeps its beginning and ends in ``..`` and a checksum of the whole. That stands for the name
    wherever the name itself is not known any more (``decode_segment``), and is longer than any name of a job or operator can be.
    """
    if not name:
        raise ConfigError("an empty name cannot name a job or an operator in checkpoint storage: give it one")
    if _SHORTENED.fullmatch(name):
        return name
    encoded = "".join(chr(byte) if byte in _PLAIN else f".{byte:02x}" for byte in name.encode())
    if len(encoded) <= SEGMENT_CHARACTERS_MAX:
        return encoded
    digest = xxhash.xxh3_128(name.encode()).hexdigest()
    return f"{encoded[: SEGMENT_CHARACTERS_MAX - 34].rstrip('.')}..{digest}"


def decode_segment(segment: str) -> str:
    """The name again; a shortened one is given as it stands."""
    if ".." in segment:
        return segment
    raw = _ENCODED.sub(lambda match: chr(int(match[1], 16)), segment)
    return raw.encode("latin-1").decode(errors="replace")


def job_root(job: str) -> str:
    """Of all that a job has in a storage; with a ``/`` at its end."""
    return f"{encode_segment(job)}/"


def manifest_path(checkpoint: CheckpointId, generation: Generation) -> str:
    """Relative. A generation uses a checkpoint id once, so no two attempts share it."""
    return f"checkpoints/{checkpoint}/manifest-g{generation}.json"
