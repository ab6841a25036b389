"""Where messages may be sent: which addresses are taken down, and which of the machines behind them are called. Pure.

A webhook makes a machine inside send something to wherever somebody says. So the name is looked up by us, each address that it has is
judged, and the one that was judged is connected to: a name that means something else a moment later has no effect.
"""

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
    """How far into the inside messages may go. Each includes the one before it."""

    PUBLIC = "public"
    """Only addresses of the Internet."""
    PRIVATE = "private"
    """Networks of one's own, too."""
    LOOPBACK = "loopback"
    """And the worker's own machine."""


@dataclass(frozen=True, slots=True)
class Receiver:
    scheme: str
    host: str
    """A name, or an address without brackets."""
    port: int

    @property
    def shown(self) -> str:
        """What everybody may see of the URL: the rest of it is as good as a password with some services."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS[self.scheme] else f":{self.port}")


def receiver_of(url: str) -> Receiver:
    """Raises ValueError with what is wrong, without repeating the URL."""
    if len(url) > URL_CHARACTERS_MAX or not _PRINTABLE.fullmatch(url) or "\\" in url:
        raise ValueError(
            f"a URL has at most {URL_CHARACTERS_MAX:,} characters, none of them a blank, a backslash or outside ASCII"
        )
    parts = urlsplit(url)
    if parts.scheme not in _PORTS:
        raise ValueError("a URL of a webhook begins with http:// or https://")
    if "@" in parts.netloc:
        raise ValueError("a URL of a webhook has no user or password in it: name a key by secret_reference instead")
    if parts.fragment or url.endswith("#"):
        raise ValueError("a URL of a webhook has no fragment")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("the port of the URL is none") from None
    if host is None or port == 0:
        raise ValueError("the URL names no host, or no port of it")
    if ":" in host:
        host = _literal(host)
    elif not _HOST.fullmatch(host):
        raise ValueError("the host of the URL is neither a name nor an address")
    found = Receiver(parts.scheme, host, port or _PORTS[parts.scheme])
    try:
        refused = _never(ip_address(found.host))
    except ValueError:
        return found  # a name: what it means is found out when something is sent
    if refused is not None:
        raise ValueError(f"nothing is sent to {found.host}: {refused}")
    return found


def _literal(host: str) -> str:
    try:
        if "%" in host:
            raise ValueError
        return str(IPv6Address(host))
    except ValueError:
        raise ValueError("the host of the URL is no address of IPv6") from None


_LINK_LOCAL = (IPv4Network("169.254.0.0/16"), IPv6Network("fe80::/10"))
_METADATA = tuple(
    ip_network(one)
    for one in (
        "169.254.169.254/32",  # nearly everybody's
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure's agent
        "192.0.0.192/32",  # Oracle
        "fd00:ec2::254/128",  # Amazon
        "fd20:ce::254/128",  # Google
        "fd00:42::42/128",  # Scaleway
    )
)
"""Addresses at which machines in a cloud are told who they are, with credentials."""
_NO_MACHINE = tuple(
    ip_network(one) for one in ("0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4", "::/128", "ff00::/8", "100::/64", "fec0::/10")
)  # fmt: skip
_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_COMPATIBLE = IPv6Network("::/96")


def refusal(address: Address, reach: Reach) -> str | None:
    """Why nothing is sent to ``address``; None: it may be."""
    if (never := _never(address)) is not None:
        return never
    for one in _meant(address):
        if one.is_loopback:
            if reach is not Reach.LOOPBACK:
                return "it is this machine itself, and WEIR_WEBHOOK_REACH is not 'loopback'"
        elif not one.is_global and reach is Reach.PUBLIC:
            return "it is in a private network, and WEIR_WEBHOOK_REACH is 'public'"
    return None


def _never(address: Address) -> str | None:
    """Whatever the settings say."""
    for one in _meant(address):
        if any(one in network for network in _METADATA):
            return "that is where clouds hand out credentials"
        if any(one in network for network in _LINK_LOCAL):
            return "it is link-local, as metadata services of clouds are"
        if any(one in network for network in _NO_MACHINE):
            return "it is the address of no single machine"
    return None


def _meant(address: Address) -> tuple[Address, ...]:
    """The addresses that a packet to this one may end up at: some of IPv6 carry one of IPv4."""
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
