"""What options say: durations, counts, pairs of name and value."""

from __future__ import annotations

import re

from weir.errors import ConfigError

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_COUNT = re.compile(r"\d{1,9}")
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
DURATION_MS_MAX = 10_000 * _UNIT_MS["h"]
COUNT_MAX = 1_000


def parse_duration_ms(text: str, option: str = "", *, least_ms: int = 1) -> int:
    """``500ms``, ``10s``, ``1.5m``, ``1h``. ``option``: where it was said, for the error. Raises ConfigError."""
    said = f"{option} '{text}'".lstrip()
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"{said} is no duration: write a number with ms, s, m or h, for example 10s")
    duration_ms = float(match[1]) * _UNIT_MS[match[2]]
    if not least_ms <= duration_ms <= DURATION_MS_MAX:
        raise ConfigError(f"{said} is no duration that can be kept: from {least_ms}ms to {DURATION_MS_MAX // _UNIT_MS['h']}h")
    return int(duration_ms)


def parse_count(text: str, option: str) -> int | None:
    """A number of things, or ``none`` where there is to be no limit: None. Raises ConfigError."""
    if text.strip() == "none":
        return None
    if _COUNT.fullmatch(text.strip()) is None or int(text) > COUNT_MAX:
        raise ConfigError(f"{option} '{text}' is no count: write a number from 0 to {COUNT_MAX}, or 'none' for no limit")
    return int(text)


def parse_settings(pairs: list[str], what: str) -> dict[str, str]:
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ConfigError(f"{what} '{pair}': write it as name=value")
        settings[name] = value
    return settings
