"""Signatures of the Standard Webhooks specification, signing keys, and the times of retries."""

from __future__ import annotations

import base64
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.backend.webhooks.receiver import Received, is_signed

from weir.errors import ConfigError
from weir_backend.models import MessageKind
from weir_backend.settings import Settings
from weir_backend.webhooks.outbox import GIVE_UP_AFTER, RETRY_MAX, next_try
from weir_workers.webhooks.signing import KEYS_DIRECTORY, decode_key, headers, load_key

MESSAGE = "12345678-1234-5678-1234-567812345678"
KEY = b"sixteen bytes or more"
DOCUMENTATION = Path(__file__).parents[3] / "docs" / "control-plane.md"


def test_the_signature_equals_the_example_of_the_specification() -> None:
    """The example is from the tests of the libraries that implement the specification."""
    key, body = decode_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "test"), b'{"test": 2432232314}'
    assert headers("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, key) == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_a_signature_is_valid_only_for_its_message_and_key_and_only_for_five_minutes() -> None:
    signed_headers = headers(MESSAGE, 1_000_000, b"{}", KEY)
    assert is_signed(Received("/", signed_headers, b"{}"), KEY, now_s=1_000_000)
    assert not is_signed(Received("/", signed_headers, b"{ }"), KEY, now_s=1_000_000)
    assert not is_signed(Received("/", signed_headers | {"webhook-timestamp": "1000001"}, b"{}"), KEY, now_s=1_000_000)
    assert not is_signed(Received("/", signed_headers | {"webhook-id": "x"}, b"{}"), KEY, now_s=1_000_000)
    assert not is_signed(Received("/", signed_headers, b"{}"), KEY + b"x", now_s=1_000_000)
    assert not is_signed(Received("/", signed_headers, b"{}"), KEY, now_s=1_000_301), "a replayed old message is refused"
    assert "webhook-signature" not in headers(MESSAGE, 1, b"{}", None)


def test_the_verification_code_in_the_documentation_works() -> None:
    [snippet] = re.findall(r"```python\n(.*?)```", DOCUMENTATION.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(snippet, names)  # noqa: S102  # code from docs/control-plane.md
    fresh, old = (headers(MESSAGE, int(time.time()) - age_s, b"{}", KEY) for age_s in (0, 301))
    assert names["is_genuine"](fresh, b"{}", KEY)
    assert not names["is_genuine"](fresh, b"{ }", KEY) and not names["is_genuine"](old, b"{}", KEY)


def test_signing_keys_are_read_from_the_environment_or_a_file_of_the_worker(settings: Settings, tmp_path: Path) -> None:
    assert load_key("env:WEIR_WEBHOOK_KEY_A", settings, {"WEIR_WEBHOOK_KEY_A": KEY.decode()}) == KEY
    directory = settings.data_dir / KEYS_DIRECTORY
    directory.mkdir(parents=True)
    (directory / "ops").write_bytes(KEY + b"\n")
    assert load_key("file:ops", settings, {}) == KEY
    elsewhere = settings.model_copy(update={"webhook_keys_dir": tmp_path})
    (tmp_path / "ops").write_text("whsec_" + base64.b64encode(KEY).decode())
    assert load_key("file:ops", elsewhere, {}) == KEY


@pytest.mark.parametrize(
    ("reference", "content", "message"),
    [
        ("env:WEIR_WEBHOOK_KEY_B", None, "no environment variable WEIR_WEBHOOK_KEY_B"),
        ("file:none", None, "No such file"),
        ("file:short", b"too short", "shorter than 16 bytes"),
        ("file:binary", b"\xff" * 40, "not a text file"),
        ("file:odd", b"whsec_!!!", "not base64"),
    ],
)
def test_the_error_for_a_missing_or_invalid_key_does_not_contain_the_key(
    reference: str, content: bytes | None, message: str, settings: Settings, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / reference.partition(":")[2]).write_bytes(content)
    with pytest.raises(ConfigError, match=message) as found:
        load_key(reference, settings.model_copy(update={"webhook_keys_dir": tmp_path}), {})
    assert "too short" not in str(found.value).replace("shorter", "") and "!!!" not in str(found.value)


NOW = datetime(2026, 5, 4, tzinfo=UTC)


def test_a_message_is_retried_with_growing_delays_for_a_day() -> None:
    created, at, tries, delays = NOW, NOW, 0, []
    while True:
        tries += 1
        following = next_try(MessageKind.FIRING, tries=tries, created_at=created, now=at)
        if following is None:
            break
        delays.append(following - at)
        at = following
    assert delays[:4] == [timedelta(seconds=seconds) for seconds in (10, 20, 40, 80)]
    assert delays == sorted(delays) and delays[-1] == RETRY_MAX
    assert GIVE_UP_AFTER - RETRY_MAX <= at - created < GIVE_UP_AFTER and 80 < tries < 120
    assert next_try(MessageKind.FIRING, tries=1, created_at=created, now=created + GIVE_UP_AFTER) is None


def test_a_test_message_is_not_retried() -> None:
    assert next_try(MessageKind.TEST, tries=1, created_at=NOW, now=NOW) is None
