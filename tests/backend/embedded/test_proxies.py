"""Trusted proxies of the API."""

from __future__ import annotations

import pytest

from weir.errors import ConfigError
from weir_workers.embedded.supervisor.services import proxy_options


def test_without_trusted_proxies_the_api_ignores_forwarded_addresses() -> None:
    assert proxy_options({}) == proxy_options({"WEIR_TRUSTED_PROXIES": ""}) == ("--no-proxy-headers",)


def test_trusted_proxies_are_addresses_and_networks() -> None:
    trusted = {"WEIR_TRUSTED_PROXIES": "192.0.2.80, 2001:db8::1,10.0.0.0/8"}
    assert proxy_options(trusted) == ("--proxy-headers", "--forwarded-allow-ips", "192.0.2.80,2001:db8::1,10.0.0.0/8")


@pytest.mark.parametrize("value", ["*", "192.0.2.80,*", "proxy.example", "10.0.0.1/8", "0.0.0.0/0", "::/0"])
def test_trusted_proxies_that_would_let_any_client_choose_its_address_are_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="WEIR_TRUSTED_PROXIES is .*addresses or networks of your reverse proxies"):
        proxy_options({"WEIR_TRUSTED_PROXIES": value})
