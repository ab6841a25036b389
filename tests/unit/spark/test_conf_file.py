from __future__ import annotations

from pathlib import Path

import pytest

from weir.errors import ConfigError
from weir.spark.session import _conf_file


def _settings(tmp_path: Path, text: str) -> dict[str, str]:
    file = tmp_path / "spark.properties"
    file.write_text(text)
    file.chmod(0o600)
    return _conf_file(str(file))


def test_a_value_can_contain_equals_signs(tmp_path: Path) -> None:
    text = "# comment\n\nspark.a -XX:Level=1 -Dx=y\nspark.b=-XX:Level=1\n  spark.c =  two words\nspark.authenticate.secret\ts=cret=\n"
    assert _settings(tmp_path, text) == {
        "spark.a": "-XX:Level=1 -Dx=y",
        "spark.b": "-XX:Level=1",
        "spark.c": "two words",
        "spark.authenticate.secret": "s=cret=",
    }


@pytest.mark.parametrize("line", ["spark.a", "spark.a =", "other.a 1", "spark. 1"])
def test_the_error_for_an_invalid_line_shows_the_line_number(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError, match=r"line 2: not a Spark setting"):
        _settings(tmp_path, f"spark.x 1\n{line}\n")
