"""What options say: durations, pairs of name and value."""

from __future__ import annotations

import re

from weir.errors import ConfigError

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
DURATION_MS_MAX = 10_000 * _UNIT_MS["h"]


def parse_duration_ms(text: str) -> int:
    """``500ms``, ``10s``, ``1.5m``, ``1h``; at least a millisecond. Raises ConfigError."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"'{text}' is no duration: write a number with ms, s, m or h, for example 10s")
    duration_ms = float(match[1]) * _UNIT_MS[match[2]]
    if not 1 <= duration_ms <= DURATION_MS_MAX:
        raise ConfigError(f"'{text}' is no duration that can be kept: from 1ms to {DURATION_MS_MAX // _UNIT_MS['h']}h")
    return int(duration_ms)


def parse_settings(pairs: list[str], what: str) -> dict[str, str]:
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ConfigError(f"{what} '{pair}': write it as name=value")
        settings[name] = value
    return settings
