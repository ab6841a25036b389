from __future__ import annotations

from pathlib import Path

import pytest

from package_index import install_environment


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def environment_without_settings(home: Path, **more: str) -> dict[str, str]:
    """Return the environment variables of a user without pip settings."""
    return {"HOME": str(home), "PATH": "/usr/bin", "XDG_CONFIG_DIRS": str(home / "none"), **more}


def write_pip_conf(home: Path, text: str) -> None:
    path = home / ".config" / "pip" / "pip.conf"
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_the_index_in_pip_conf_is_passed_to_uv(home: Path, tmp_path: Path) -> None:
    write_pip_conf(
        home, "[global]\nindex-url = https://mirror.example/simple\nextra_index_url =\n  https://a.example\n  https://b.example\n"
    )
    environment = install_environment(environment_without_settings(home), tmp_path)
    assert environment["UV_DEFAULT_INDEX"] == "https://mirror.example/simple"
    assert environment["UV_INDEX"] == "https://a.example https://b.example"


def test_pip_environment_variables_take_precedence_over_pip_conf(home: Path, tmp_path: Path) -> None:
    write_pip_conf(home, "[global]\nindex-url = https://file.example/simple\n")
    environment = install_environment(
        environment_without_settings(home, PIP_INDEX_URL="https://variable.example/simple"), tmp_path
    )
    assert environment["UV_DEFAULT_INDEX"] == "https://variable.example/simple"


@pytest.mark.parametrize("variable", ["UV_DEFAULT_INDEX", "UV_INDEX_URL"])
def test_settings_of_uv_take_precedence_over_settings_of_pip(home: Path, tmp_path: Path, variable: str) -> None:
    variables = environment_without_settings(
        home, PIP_INDEX_URL="https://pip.example/simple", **{variable: "https://uv.example/simple"}
    )
    environment = install_environment(variables, tmp_path)
    assert environment[variable] == "https://uv.example/simple"
    assert "https://pip.example/simple" not in {value for name, value in environment.items() if name.startswith("UV_")}


def test_pip_conf_is_ignored_if_the_variable_pip_config_file_is_dev_null(home: Path, tmp_path: Path) -> None:
    write_pip_conf(home, "[global]\nindex-url = https://mirror.example/simple\n")
    environment = install_environment(environment_without_settings(home, PIP_CONFIG_FILE="/dev/null"), tmp_path)
    assert "UV_DEFAULT_INDEX" not in environment


def test_an_invalid_pip_conf_is_ignored(home: Path, tmp_path: Path) -> None:
    write_pip_conf(home, "no section\n")
    assert "UV_DEFAULT_INDEX" not in install_environment(environment_without_settings(home), tmp_path)


def test_pip_settings_that_change_the_target_directory_are_dropped(home: Path, tmp_path: Path) -> None:
    variables = environment_without_settings(
        home, HTTPS_PROXY="http://proxy.example:3128", PIP_TARGET="/elsewhere", VIRTUAL_ENV="/other"
    )
    environment = install_environment(variables, tmp_path)
    assert environment["HTTPS_PROXY"] == "http://proxy.example:3128"
    assert not {"PIP_TARGET", "VIRTUAL_ENV"} & environment.keys()


def test_without_a_home_directory_the_cache_is_in_the_repository(tmp_path: Path) -> None:
    environment = install_environment(environment_without_settings(tmp_path / "no home"), tmp_path)
    assert environment["UV_CACHE_DIR"] == str(tmp_path / ".cache" / "uv")


def test_with_a_home_directory_the_cache_is_in_the_home_directory(home: Path, tmp_path: Path) -> None:
    assert "UV_CACHE_DIR" not in install_environment(environment_without_settings(home), tmp_path)
