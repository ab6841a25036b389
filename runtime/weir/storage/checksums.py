"""The checksum of everything in checkpoint storage: XXH3, 128 bits, of all bytes. Against accidents, not against forgers."""

from __future__ import annotations

from collections.abc import Sequence

import xxhash


def checksum(data: Sequence[bytes | memoryview]) -> str:
    """``xxh3:<32 hex digits>`` of the parts in order, as if they were one."""
    digest = xxhash.xxh3_128()
    for part in data:
        digest.update(part)
    return f"xxh3:{digest.hexdigest()}"
