"""Send one webhook message over HTTP, with a time limit. The sender resolves the name, checks the addresses and connects to a checked
address. The sender does not follow redirects or use proxies."""

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
from weir_backend.webhooks.outbox import DeliveryFailure, DeliverySuccess, WebhookMessage
from weir_workers.webhooks.signing import headers

LOOKUP_S = 5.0
CONNECT_S = 5.0
SEND_S = 10.0
"""The time limit from the start of the connection to the status of the response. The name lookup has its own limit."""
Resolve = Callable[[str, int], Awaitable[Sequence[Address]]]


async def resolve(host: str, port: int) -> Sequence[Address]:
    """Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # Remove the zone ("%eth0"). A zone occurs only in link-local addresses, and Weir refuses these addresses.
    return list(dict.fromkeys(ip_address(str(address[0]).partition("%")[0]) for *_, address in found))


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends webhook messages.

    All requests share ``ssl_context``, because the creation of an SSL context is slow. ``resolve`` looks up the name of the receiver."""

    reach: Reach
    ssl_context: ssl.SSLContext
    resolve: Resolve = resolve

    async def send(self, message: WebhookMessage, key: bytes | None) -> DeliverySuccess | DeliveryFailure:
        """Send the message, and read the status of the response. Failures of the receiver are returned as DeliveryFailure, never raised."""
        try:
            receiver = receiver_of(message.url)
        except ValueError as error:
            return DeliveryFailure(str(error))
        try:
            async with asyncio.timeout(LOOKUP_S):
                addresses = await self.resolve(receiver.host, receiver.port)
        except (OSError, UnicodeError) as error:  # a TimeoutError is an OSError
            if isinstance(error, TimeoutError):
                return DeliveryFailure(f"cannot resolve {receiver.host} within {LOOKUP_S:.0f} s")
            return DeliveryFailure(f"cannot resolve {receiver.host}")
        allowed = [address for address in addresses if refusal_of(address, self.reach) is None]
        if not allowed:
            return DeliveryFailure(_refused(receiver, addresses, self.reach))
        return await self._send_to(allowed[0], receiver, message, key)

    async def _send_to(
        self, address: Address, receiver: Receiver, message: WebhookMessage, key: bytes | None
    ) -> DeliverySuccess | DeliveryFailure:
        body = json.dumps(message.body, separators=(",", ":"), ensure_ascii=True).encode()
        message_headers = {
            "Host": _authority(receiver),
            "Content-Type": "application/json",
            "User-Agent": "weir",
            "Connection": "close",
            **headers(str(message.message_id), int(time.time()), body, key),
        }
        # The connection uses the address, but the certificate must match the name.
        url, extensions = httpx2.URL(message.url).copy_with(host=str(address)), {"sni_hostname": receiver.host}
        try:
            status = await asyncio.wait_for(self._post(url, body, message_headers, extensions), SEND_S)
        except (TimeoutError, httpx2.TimeoutException):
            return DeliveryFailure(f"{receiver.shown} does not answer within {SEND_S:.0f} s")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            return DeliveryFailure(f"cannot connect to {receiver.shown}: {_why(error)}")
        if 200 <= status < 300:
            return DeliverySuccess(status)
        if 300 <= status < 400:
            return DeliveryFailure(f"{receiver.shown} answers {status}; redirects are not followed", status)
        return DeliveryFailure(f"{receiver.shown} answers {status}", status)

    async def _post(self, url: httpx2.URL, body: bytes, message_headers: dict[str, str], extensions: dict[str, str]) -> int:
        # Create a client for each message. A shared client could send a message over a connection that it has opened for another host
        # name with the same address.
        client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(SEND_S, connect=CONNECT_S), follow_redirects=False, trust_env=False, verify=self.ssl_context
        )
        async with client, client.stream("POST", url, content=body, headers=message_headers, extensions=extensions) as response:
            return response.status_code


def _authority(receiver: Receiver) -> str:
    return receiver.shown.partition("://")[2]


def _refused(receiver: Receiver, addresses: Sequence[Address], reach: Reach) -> str:
    if not addresses:
        return f"cannot resolve {receiver.host}"
    return f"{receiver.host} ({addresses[0]}) is not allowed: {refusal_of(addresses[0], reach)}"


def _why(error: Exception) -> str:
    """Return the first line of the error. No error of httpx contains the URL."""
    return (str(error) or type(error).__name__).splitlines()[0][:200]
