"""Each test file that uses ``platform`` gets its own platform."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.integration.platform.api import Api
from tests.integration.platform.embedded_rig import Platform
from tests.integration.platform.test_embedded import temporary_platform


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    with temporary_platform() as running:
        result = running.weir("up")
        assert result.code == 0, result.err
        yield running


@pytest.fixture(scope="module")
def api(platform: Platform) -> Api:
    return Api(platform.state.url, "admin", platform.secrets.admin_password)
