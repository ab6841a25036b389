from __future__ import annotations

from pathlib import Path

import pytest

from weir.cli.link import take_link
from weir.errors import ConfigError
from weir.link.http import LinkAddress
from weir.link.run import LinkOptions

SAID = {"WEIR_RUN_URL": "http://127.0.0.1:1/runs/1", "WEIR_RUN_TOKEN": "secret", "WEIR_RUN_SPOOL": "/somewhere", "LANG": "C"}


def test_a_run_of_a_control_plane_is_told_so_and_the_token_stays_with_it() -> None:
    environment = dict(SAID)
    assert take_link(environment) == LinkOptions(LinkAddress(SAID["WEIR_RUN_URL"], "secret"), Path("/somewhere"))
    assert "WEIR_RUN_TOKEN" not in environment and environment["LANG"] == "C"


def test_a_run_that_is_nobodys_is_left_alone() -> None:
    assert take_link({"LANG": "C"}) is None


@pytest.mark.parametrize("missing", ["WEIR_RUN_URL", "WEIR_RUN_TOKEN", "WEIR_RUN_SPOOL"])
def test_half_a_word_is_refused_by_what_is_missing(missing: str) -> None:
    environment = {name: value for name, value in SAID.items() if name != missing}
    with pytest.raises(ConfigError, match=f"not set: {missing}$") as refused:
        take_link(environment)
    assert "secret" not in str(refused.value)
