"""Tests which webhook URLs the API accepts, and to which addresses workers send deliveries."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir_backend.webhooks.addresses import Reach, Receiver, receiver_of, refusal_of


@pytest.mark.parametrize(
    ("url", "receiver", "shown"),
    [
        ("https://hooks.example.com/services/T0/B0/x?a=b%2Fc", ("https", "hooks.example.com", 443), "https://hooks.example.com"),
        ("http://receiver:8080", ("http", "receiver", 8080), "http://receiver:8080"),
        ("http://[2001:DB8::1]:80/x", ("http", "2001:db8::1", 80), "http://[2001:db8::1]"),
        ("https://10.1.2.3/", ("https", "10.1.2.3", 443), "https://10.1.2.3"),
    ],
)
def test_the_shown_part_of_a_url_is_its_scheme_host_and_port(url: str, receiver: tuple[str, str, int], shown: str) -> None:
    assert receiver_of(url) == Receiver(*receiver) and receiver_of(url).shown == shown


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://h/x", "http"),
        ("file:///etc/passwd", "http"),
        ("hooks.example.com/x", "http"),
        ("", "characters"),
        ("https://user:password@h/x", "secret_reference"),
        ("https://user@h/x", "secret_reference"),
        ("http://h\\@evil/x", "backslash"),
        ("https://h/x#y", "fragment"),
        ("https://h/x#", "fragment"),
        ("https:///x", "host"),
        ("http://h:0/", "port"),
        ("http://h:70000/", "port"),
        ("http://h:x/", "port"),
        ("http://h /", "no spaces"),
        ("http://h\r\nX: y/", "no spaces"),
        ("http://-h/", "host"),
        ("http://h%41/", "host"),
        ("http://[fe80::1%25eth0]/", "IPv6"),
        ("http://ex\u00e4mple.com/", "ASCII"),
        ("http://h/" + "x" * 2_000, "characters"),
        ("http://169.254.169.254/latest/meta-data/", "cloud metadata service"),
        ("http://[fe80::1]/", "link-local"),
        ("http://[::ffff:169.254.1.1]/", "link-local"),
        ("http://0.0.0.0/", "single host"),
    ],
)
def test_the_error_for_an_invalid_url_does_not_contain_its_secrets(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as found:
        receiver_of(url)
    assert "password" not in str(found.value).replace("user or password", "")


PUBLIC = ["8.8.8.8", "93.184.216.34", "2606:4700::1111"]
PRIVATE = [
    "10.0.0.1",
    "172.16.3.4",
    "192.168.1.1",
    "100.64.0.1",
    "fd12:3456::1",
    "::ffff:10.0.0.1",
    "64:ff9b::10.0.0.1",
    "2002:a00:1::",
]
LOOPBACK = ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"]
NEVER = [
    "169.254.169.254", "169.254.0.1", "fe80::1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "::169.254.169.254",
    "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254", "0.0.0.0", "::", "255.255.255.255", "224.0.0.1",
    "ff02::1", "240.0.0.1", "fec0::1",
]  # fmt: skip


@pytest.mark.parametrize("reach", Reach)
def test_the_reach_setting_limits_the_allowed_addresses_and_never_allows_link_local_addresses(reach: Reach) -> None:
    def allowed(addresses: list[str]) -> set[bool]:
        return {refusal_of(ip_address(one), reach) is None for one in addresses}

    assert allowed(PUBLIC) == {True}
    assert allowed(PRIVATE) == {reach is not Reach.PUBLIC}
    assert allowed(LOOPBACK) == {reach is Reach.LOOPBACK}
    assert allowed(NEVER) == {False}


def test_the_error_for_a_refused_address_names_the_setting_that_allows_the_address() -> None:
    assert "WEIR_WEBHOOK_REACH is not 'loopback'" in str(refusal_of(ip_address("127.0.0.1"), Reach.PRIVATE))
    assert "WEIR_WEBHOOK_REACH is 'public'" in str(refusal_of(ip_address("10.0.0.1"), Reach.PUBLIC))
    assert "WEIR" not in str(refusal_of(ip_address("169.254.169.254"), Reach.LOOPBACK))


@given(st.ip_addresses(v=4))
def test_a_refused_ipv4_address_is_also_refused_in_ipv6_notation(address: object) -> None:
    plain = ip_address(str(address))
    for ipv6 in (f"::ffff:{plain}", f"64:ff9b::{plain}"):
        for reach in Reach:
            if refusal_of(plain, reach) is not None:
                assert refusal_of(ip_address(ipv6), reach) is not None
