"""The environment variables for pip and uv. uv does not read pip's settings, so this module translates them for uv."""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

# Environment variables that would make pip or uv install elsewhere, or would make pip refuse to install.
_ELSEWHERE = (
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_USER",
    "PIP_REQUIRE_VIRTUALENV",
    "PYTHONHOME",
    "VIRTUAL_ENV",
    "UV_PYTHON",
)

_PIP_TO_UV = {
    "index-url": ("UV_DEFAULT_INDEX", "UV_INDEX_URL"),
    "extra-index-url": ("UV_INDEX", "UV_EXTRA_INDEX_URL"),
    "find-links": ("UV_FIND_LINKS",),
    "cert": ("SSL_CERT_FILE",),
}
"""Maps a setting of pip to variables of uv. The first variable gets the value, unless one of the variables is already set."""


def install_environment(variables: Mapping[str, str], root: Path) -> dict[str, str]:
    environment = {name: value for name, value in variables.items() if name not in _ELSEWHERE}
    environment.setdefault("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    environment.setdefault("UV_HTTP_TIMEOUT", "120")
    environment.setdefault("UV_SYSTEM_CERTS", "1")
    environment.setdefault("UV_PYTHON_DOWNLOADS", "never")
    for setting, value in _pip_settings(variables).items():
        names = _PIP_TO_UV.get(setting)
        if names and value and not any(environment.get(name) for name in names):
            environment[names[0]] = value
    if not _cache_is_writable(variables):
        environment["UV_CACHE_DIR"] = str(root / ".cache" / "uv")
        environment["PIP_NO_CACHE_DIR"] = "1"
    return environment


def _pip_settings(variables: Mapping[str, str]) -> dict[str, str]:
    """Read settings in pip's order: first the system's files, then the user's files, then the environment."""
    settings: dict[str, str] = {}
    for path in _pip_files(variables):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path)
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue  # pip reports an invalid settings file by itself
        for section in ("global", "install"):
            if parser.has_section(section):
                settings.update({name.replace("_", "-"): " ".join(value.split()) for name, value in parser.items(section)})
    for setting in _PIP_TO_UV:
        if value := variables.get("PIP_" + setting.upper().replace("-", "_")):
            settings[setting] = value
    return settings


def _pip_files(variables: Mapping[str, str]) -> Iterator[Path]:
    if variables.get("PIP_CONFIG_FILE") == os.devnull:
        return
    for folder in variables.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":"):
        yield Path(folder, "pip", "pip.conf")
    yield Path("/etc/pip.conf")
    home = Path(variables.get("HOME", "/nonexistent"))
    yield home / ".pip" / "pip.conf"
    yield Path(variables.get("XDG_CONFIG_HOME") or home / ".config", "pip", "pip.conf")
    if sys.prefix != sys.base_prefix:
        yield Path(sys.prefix, "pip.conf")
    if configured := variables.get("PIP_CONFIG_FILE"):
        yield Path(configured)


def _cache_is_writable(variables: Mapping[str, str]) -> bool:
    """Return whether this user can write to uv's default cache. System users often have no home directory."""
    if variables.get("UV_CACHE_DIR"):
        return True
    home = variables.get("XDG_CACHE_HOME") or variables.get("HOME")
    if not home or not Path(home).is_dir():
        return False
    cache = Path(home, "uv") if variables.get("XDG_CACHE_HOME") else Path(home, ".cache", "uv")
    nearest = next(folder for folder in (cache, *cache.parents) if folder.exists())
    return os.access(nearest, os.W_OK)
