"""One platform per test file that needs one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.integration.platform.api import Api
from tests.integration.platform.embedded_rig import Platform
from tests.integration.platform.test_embedded import temporary_platform


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    with temporary_platform() as found:
        said = found.weir("up")
        assert said.code == 0, said.err
        yield found


@pytest.fixture(scope="module")
def api(platform: Platform) -> Api:
    return Api(platform.state.url, "admin", platform.secrets.admin_password)
