"""The address and token of a driver's metrics endpoint, as written on the command line or in the worker settings."""

from __future__ import annotations

from dataclasses import dataclass

from weir.errors import ConfigError

TOKEN_CHARACTERS_MIN = 16
PORTS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class MetricsAddress:
    """``ports``: number of candidate ports, starting with ``port``. ``port`` 0 means any free port."""

    host: str
    port: int
    ports: int = 1


def parse_address(text: str) -> MetricsAddress:
    """Parse HOST:PORT or HOST:FIRST-LAST. Raises ConfigError."""
    host, _, port_range = text.rpartition(":")
    first, dash, last = port_range.partition("-")
    if host and _is_port(first) and (not dash or (_is_port(last) and 0 < int(first) <= int(last))):
        ports = int(last) - int(first) + 1 if dash else 1
        if ports <= PORTS_MAX:
            return MetricsAddress(host.strip("[]"), int(first), ports)
    raise ConfigError(
        f"invalid address {text}: write HOST:PORT, such as 127.0.0.1:9400, or HOST:FIRST-LAST with at most {PORTS_MAX:,} ports, "
        "such as 127.0.0.1:9400-9419"
    )


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 5 and int(text) <= 65_535


def is_token(text: str) -> bool:
    """Return whether ``text`` is valid in an HTTP header and long enough to be secure."""
    return len(text) >= TOKEN_CHARACTERS_MIN and text.isascii() and text.isprintable() and " " not in text
