from __future__ import annotations

from collections.abc import Iterator

import pytest

from weir.spark.session import LazySession


@pytest.fixture(scope="module")
def session() -> Iterator[LazySession]:
    shared = LazySession("local", 2, app_name="weir-tests", conf={})
    yield shared
    shared.close()
