"""Where the platform is and who is calling: from the environment, else from what ``weir login`` has kept."""

from __future__ import annotations

import json
import os
import tempfile
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from weir.cli.remote.errors import NoPlatform, Refused

URL, TOKEN = "WEIR_API_URL", "WEIR_TOKEN"


@dataclass(frozen=True, slots=True)
class Place:
    """``url``: of the platform, without a path of the API. ``token`` shows in no representation; '': nobody has logged in yet."""

    url: str
    token: str = field(repr=False, default="")

    @property
    def is_here(self) -> bool:
        """On this machine: no proxy lies between, and nobody listens."""
        host = urllib.parse.urlsplit(self.url).hostname or ""
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    @property
    def is_encrypted(self) -> bool:
        return self.url.startswith("https://")


@dataclass(frozen=True, slots=True)
class Kept:
    """The content of the file. ``name``: whose token it is."""

    url: str
    token: str = field(repr=False)
    name: str = ""
    expires_at: str = ""


def parse_url(text: str, what: str) -> str:
    """``https://host[:port]``. Raises Refused."""
    url = text.strip().rstrip("/").removesuffix("/api/v1")
    try:
        parts = urllib.parse.urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        fits = False
        parts = urllib.parse.SplitResult("", "", "", "", "")
    if not fits or parts.query or parts.fragment or parts.username is not None:
        raise Refused(f"{what} '{text}' is no address of a platform: write https://HOST or http://HOST:PORT")
    return url


def credentials_file(environment: Mapping[str, str]) -> Path:
    base = environment.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if base.startswith("/") else Path(environment.get("HOME") or Path.home()) / ".config"
    return folder / "weir" / "credentials.json"


def find(environment: Mapping[str, str]) -> Place:
    """Raises NoPlatform, and Refused where only half of it is said or the file cannot be read."""
    url, token = environment.get(URL, "").strip(), environment.get(TOKEN, "").strip()
    kept = None if url and token else read(credentials_file(environment))
    if url:
        url = parse_url(url, URL)
        if not token and kept is not None and kept.url == url:
            # A token is never sent anywhere but to where it comes from.
            token = kept.token
        if not token:
            raise Refused(f"{URL} is set to {url}, but there is no token for it: set {TOKEN}, or weir login --url {url}")
        return Place(url, _word(token))
    if token:
        raise Refused(f"{TOKEN} is set, but not where it is to be used: set {URL}, too")
    if kept is None:
        raise NoPlatform
    return Place(kept.url, kept.token)


def is_known(environment: Mapping[str, str]) -> bool:
    try:
        find(environment)
    except (NoPlatform, Refused):
        return False
    return True


def _word(token: str) -> str:
    if not token.isascii() or not token.isprintable() or " " in token:
        raise Refused(f"{TOKEN} is no token: it has to be one word of printable ASCII characters; is something cut off or added?")
    return token


def read(path: Path) -> Kept | None:
    """None: there is no such file. Raises Refused."""
    try:
        found = json.loads(path.read_text())
        return Kept(
            url=parse_url(found["url"], "its address"),
            token=_word(found["token"]),
            name=str(found.get("name", "")),
            expires_at=str(found.get("expires_at", "")),
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror}): mend that, or remove it and weir login again") from None
    except (ValueError, KeyError, TypeError, AttributeError, Refused):
        raise Refused(f"{path} is damaged: remove it and weir login again") from None


def write(path: Path, kept: Kept) -> None:
    """For us alone, whole or not at all. Raises Refused."""
    value = {"url": kept.url, "token": kept.token, "name": kept.name, "expires_at": kept.expires_at}
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, made = tempfile.mkstemp(dir=path.parent, prefix=".credentials-")  # 0600 from the beginning
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(json.dumps(value, indent=2) + "\n")
            os.replace(made, path)
        except BaseException:
            os.unlink(made)
            raise
    except OSError as error:
        raise Refused(f"{path} cannot be written ({error.strerror}): set {URL} and {TOKEN} instead") from None


def remove(path: Path) -> None:
    """Raises Refused."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise Refused(f"{path} cannot be removed ({error.strerror}): remove it yourself, there is a token in it") from None
