from __future__ import annotations

from pathlib import Path

import pytest

from weir.cli.run import take_link_options
from weir.errors import ConfigError
from weir.link.control_link import LinkOptions
from weir.link.http import LinkAddress

VARIABLES = {"WEIR_RUN_URL": "http://127.0.0.1:1/runs/1", "WEIR_RUN_TOKEN": "secret", "WEIR_RUN_SPOOL": "/somewhere", "LANG": "C"}


def test_reading_the_link_options_removes_the_token_from_the_environment() -> None:
    environment = dict(VARIABLES)
    assert take_link_options(environment) == LinkOptions(LinkAddress(VARIABLES["WEIR_RUN_URL"], "secret"), Path("/somewhere"))
    assert "WEIR_RUN_TOKEN" not in environment and environment["LANG"] == "C"


def test_a_run_without_a_control_plane_has_no_link() -> None:
    assert take_link_options({"LANG": "C"}) is None


@pytest.mark.parametrize("missing", ["WEIR_RUN_URL", "WEIR_RUN_TOKEN", "WEIR_RUN_SPOOL"])
def test_the_error_for_incomplete_link_variables_names_the_missing_variable(missing: str) -> None:
    environment = {name: value for name, value in VARIABLES.items() if name != missing}
    with pytest.raises(ConfigError, match=f"Not set: {missing}$") as refused:
        take_link_options(environment)
    assert "secret" not in str(refused.value)
