"""Decide which URLs a webhook may have, and to which IP addresses workers may send messages. Pure.

A webhook makes a worker inside the user's network send requests to a URL that a user has chosen. Requests
to webhooks must reach only allowed addresses. Therefore, a worker resolves the host name of the URL, checks the addresses, and connects to a checked
address. If the host name resolves to a different address after the check, the worker still uses the checked address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias
from urllib.parse import urlsplit

URL_CHARACTERS_MAX = 2_000
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,251}[A-Za-z0-9_])?")
_PRINTABLE = re.compile(r"[!-~]+")
_PORTS = {"http": 80, "https": 443}

Address: TypeAlias = IPv4Address | IPv6Address


class Reach(StrEnum):
    """The networks to which workers may send messages. PRIVATE includes PUBLIC, and LOOPBACK includes PRIVATE."""

    PUBLIC = "public"
    """Only public addresses."""
    PRIVATE = "private"
    """Addresses in private networks, and all addresses that PUBLIC allows."""
    LOOPBACK = "loopback"
    """The host of the worker, and all addresses that PRIVATE allows."""


@dataclass(frozen=True, slots=True)
class Receiver:
    scheme: str
    host: str
    """A host name, or an IP address without brackets."""
    port: int

    @property
    def shown(self) -> str:
        """Return scheme, host and port, which every user may see. The path and the query of the URL can contain a secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS[self.scheme] else f":{self.port}")


def receiver_of(url: str) -> Receiver:
    """Return the receiver of a URL. Raises ValueError with the reason why the URL is not allowed. The message of the error does not contain the
    URL."""
    if len(url) > URL_CHARACTERS_MAX or not _PRINTABLE.fullmatch(url) or "\\" in url:
        raise ValueError(
            f"The URL must have at most {URL_CHARACTERS_MAX:,} characters, and no spaces, backslashes or non-ASCII characters."
        )
    parts = urlsplit(url)
    if parts.scheme not in _PORTS:
        raise ValueError("The URL must begin with http:// or https://.")
    if "@" in parts.netloc:
        raise ValueError("The URL must not contain a user or password. Use secret_reference instead.")
    if parts.fragment or url.endswith("#"):
        raise ValueError("The URL must not contain a fragment.")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("The port of the URL is invalid.") from None
    if host is None or port == 0:
        raise ValueError("The URL has no host, or its port is 0.")
    if ":" in host:
        host = _literal(host)
    elif not _HOST.fullmatch(host):
        raise ValueError("The host of the URL is neither a name nor an address.")
    found = Receiver(parts.scheme, host, port or _PORTS[parts.scheme])
    try:
        refused = _always_refused(ip_address(found.host))
    except ValueError:
        return found  # the host is a name, which the worker resolves
    if refused is not None:
        raise ValueError(f"Messages to {found.host} are not allowed: {refused}.")
    return found


def _literal(host: str) -> str:
    try:
        if "%" in host:
            raise ValueError
        return str(IPv6Address(host))
    except ValueError:
        raise ValueError("The host of the URL is not an IPv6 address.") from None


_LINK_LOCAL = (IPv4Network("169.254.0.0/16"), IPv6Network("fe80::/10"))
_METADATA = tuple(
    ip_network(one)
    for one in (
        "169.254.169.254/32",  # most clouds
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure
        "192.0.0.192/32",  # Oracle
        "fd00:ec2::254/128",  # Amazon
        "fd20:ce::254/128",  # Google
        "fd00:42::42/128",  # Scaleway
    )
)
"""Addresses of the metadata services of clouds, which return credentials."""
_NOT_UNICAST = tuple(
    ip_network(one) for one in ("0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4", "::/128", "ff00::/8", "100::/64", "fec0::/10")
)  # fmt: skip
_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_COMPATIBLE = IPv6Network("::/96")


def refusal_of(address: Address, reach: Reach) -> str | None:
    """Return the reason why workers may not send messages to ``address``, or None if the address is allowed."""
    if (never := _always_refused(address)) is not None:
        return never
    for one in _destinations(address):
        if one.is_loopback:
            if reach is not Reach.LOOPBACK:
                return "the address is this host, and WEIR_WEBHOOK_REACH is not 'loopback'"
        elif not one.is_global and reach is Reach.PUBLIC:
            return "the address is in a private network, and WEIR_WEBHOOK_REACH is 'public'"
    return None


def _always_refused(address: Address) -> str | None:
    """Return the reason why no setting allows ``address``, or None if a setting allows the address."""
    for one in _destinations(address):
        if any(one in network for network in _METADATA):
            return "the address is a cloud metadata service"
        if any(one in network for network in _LINK_LOCAL):
            return "the address is link-local"
        if any(one in network for network in _NOT_UNICAST):
            return "the address does not belong to a single host"
    return None


def _destinations(address: Address) -> tuple[Address, ...]:
    """Return the addresses that a packet to ``address`` can reach. A packet to an IPv6 address that contains an IPv4 address can reach the IPv4
    address."""
    if isinstance(address, IPv4Address):
        return (address,)
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    carried: list[Address] = [address]
    if address.sixtofour is not None:
        carried.append(address.sixtofour)
    if address.teredo is not None:
        carried += address.teredo
    if any(address in network for network in _NAT64) or (address in _COMPATIBLE and int(address) > 1):
        carried.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return tuple(carried)
