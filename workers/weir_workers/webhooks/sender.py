"""Sending one webhook message over HTTP: to an address that was resolved and checked here, without redirects or proxies, with a
time limit."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

import httpx2

from weir_backend.webhooks.addresses import Address, Reach, Receiver, receiver_of, refusal_of
from weir_backend.webhooks.outbox import NotSent, SendResult, WebhookMessage
from weir_workers.webhooks.signing import headers

LOOK_UP_S = 5.0
CONNECT_S = 5.0
SEND_S = 10.0
"""The time limit from the first byte to the status of the answer; the name lookup before it has its own."""
LookUp = Callable[[str, int], Awaitable[Sequence[Address]]]


async def look_up(host: str, port: int) -> Sequence[Address]:
    """Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # A zone ("%eth0") occurs only in link-local addresses, which are refused.
    return list(dict.fromkeys(ip_address(str(address[0]).partition("%")[0]) for *_, address in found))


@dataclass(frozen=True, slots=True)
class Sender:
    """``trust``: the TLS context; created once, because that is slow."""

    reach: Reach
    trust: ssl.SSLContext
    look_up: LookUp = look_up

    async def send(self, message: WebhookMessage, key: bytes | None) -> SendResult | NotSent:
        """Send the message. Never raises because of the receiver. Of the answer, only the status is read."""
        try:
            receiver = receiver_of(message.url)
        except ValueError as error:
            return NotSent(str(error))
        try:
            async with asyncio.timeout(LOOK_UP_S):
                addresses = await self.look_up(receiver.host, receiver.port)
        except (OSError, UnicodeError) as error:  # a TimeoutError is an OSError
            why = "takes too long" if isinstance(error, TimeoutError) else "finds no address"
            return NotSent(f"looking up {receiver.host} {why}")
        allowed = [address for address in addresses if refusal_of(address, self.reach) is None]
        if not allowed:
            return NotSent(_refused(receiver, addresses, self.reach))
        return await self._send_to(allowed[0], receiver, message, key)

    async def _send_to(
        self, address: Address, receiver: Receiver, message: WebhookMessage, key: bytes | None
    ) -> SendResult | NotSent:
        body = json.dumps(message.body, separators=(",", ":"), ensure_ascii=True).encode()
        said = {
            "Host": _authority(receiver),
            "Content-Type": "application/json",
            "User-Agent": "weir",
            "Connection": "close",
            **headers(str(message.message_id), int(time.time()), body, key),
        }
        # The certificate must match the name, whatever address the connection uses.
        url, about = httpx2.URL(message.url).copy_with(host=str(address)), {"sni_hostname": receiver.host}
        try:
            status = await asyncio.wait_for(self._post(url, body, said, about), SEND_S)
        except (TimeoutError, httpx2.TimeoutException):
            return NotSent(f"{receiver.shown} does not answer within {SEND_S:.0f} s")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            return NotSent(f"{receiver.shown} cannot be reached: {_why(error)}")
        if 200 <= status < 300:
            return SendResult(status)
        if 300 <= status < 400:
            return NotSent(f"{receiver.shown} answers {status}; redirects are not followed", status)
        return NotSent(f"{receiver.shown} answers {status}", status)

    async def _post(self, url: httpx2.URL, body: bytes, said: dict[str, str], about: dict[str, str]) -> int:
        # One client per message: a kept connection could belong to another name with the same address.
        client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(SEND_S, connect=CONNECT_S), follow_redirects=False, trust_env=False, verify=self.trust
        )
        async with client, client.stream("POST", url, content=body, headers=said, extensions=about) as answer:
            return answer.status_code


def _authority(receiver: Receiver) -> str:
    return receiver.shown.partition("://")[2]


def _refused(receiver: Receiver, addresses: Sequence[Address], reach: Reach) -> str:
    if not addresses:
        return f"looking up {receiver.host} finds no address"
    return f"{receiver.host} ({addresses[0]}) is not allowed: {refusal_of(addresses[0], reach)}"


def _why(error: Exception) -> str:
    """Use the error's own words if they are short; none of them contains the URL."""
    return (str(error) or type(error).__name__).splitlines()[0][:200]
