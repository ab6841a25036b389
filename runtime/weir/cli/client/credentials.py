"""The address of the API and the token, from the environment or from the file that ``weir login`` writes."""

from __future__ import annotations

import json
import os
import tempfile
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from weir.cli.client.errors import NotConfigured, Refused

URL, TOKEN = "WEIR_API_URL", "WEIR_TOKEN"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """``url`` is the address of the platform, without ``/api/v1``. ``token`` is '' before a login, and ``repr`` hides it."""

    url: str
    token: str = field(repr=False, default="")

    @property
    def is_local(self) -> bool:
        """Whether the platform is on this machine. Requests to a platform on this machine use no proxy and need no encryption."""
        host = urllib.parse.urlsplit(self.url).hostname or ""
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    @property
    def is_encrypted(self) -> bool:
        return self.url.startswith("https://")


@dataclass(frozen=True, slots=True)
class SavedLogin:
    """The content of the credentials file. ``name`` is the user that the token belongs to."""

    url: str
    token: str = field(repr=False)
    name: str = ""
    expires_at: str = ""


def parse_url(text: str, what: str) -> str:
    """Parse ``https://host[:port]``. ``what`` names the value in the error message. Raises Refused."""
    url = text.strip().rstrip("/").removesuffix("/api/v1")
    try:
        parts = urllib.parse.urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
        parts = urllib.parse.SplitResult("", "", "", "", "")
    if not valid or parts.query or parts.fragment or parts.username is not None:
        raise Refused(f"{what} '{text}' is not a valid address. Write https://HOST or http://HOST:PORT.")
    return url


def credentials_file(environment: Mapping[str, str]) -> Path:
    base = environment.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if base.startswith("/") else Path(environment.get("HOME") or Path.home()) / ".config"
    return folder / "weir" / "credentials.json"


def find_endpoint(environment: Mapping[str, str]) -> Endpoint:
    """Return the configured platform and its token. Raises NotConfigured if no platform is configured.

    Raises Refused if only the address or only the token is set, or if the saved login cannot be read.
    """
    url, token = environment.get(URL, "").strip(), environment.get(TOKEN, "").strip()
    saved = None if url and token else read_credentials(credentials_file(environment))
    if url:
        url = parse_url(url, URL)
        if not token and saved is not None and saved.url == url:
            # Send a token only to the platform that issued it.
            token = saved.token
        if not token:
            raise Refused(f"{URL} is {url}, but no token for this address is saved. Set {TOKEN}, or run weir login --url {url}.")
        return Endpoint(url, _check_token(token))
    if token:
        raise Refused(f"{TOKEN} is set, but {URL} is not. Set both.")
    if saved is None:
        raise NotConfigured
    return Endpoint(saved.url, saved.token)


def is_configured(environment: Mapping[str, str]) -> bool:
    try:
        find_endpoint(environment)
    except (NotConfigured, Refused):
        return False
    return True


def _check_token(token: str) -> str:
    if not token.isascii() or not token.isprintable() or " " in token:
        raise Refused(f"{TOKEN} is not a valid token. A token is one word of printable ASCII characters. Copy the token again.")
    return token


def read_credentials(path: Path) -> SavedLogin | None:
    """Return the saved login, or None if the file does not exist. Raises Refused."""
    try:
        content = json.loads(path.read_text())
        return SavedLogin(
            url=parse_url(content["url"], "url"),
            token=_check_token(content["token"]),
            name=str(content.get("name", "")),
            expires_at=str(content.get("expires_at", "")),
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refused(f"Cannot read {path}: {error.strerror}. Fix the cause, or delete the file and run weir login.") from None
    except (ValueError, KeyError, TypeError, AttributeError, Refused):
        raise Refused(f"{path} is damaged. Delete this file and run weir login.") from None


def write_credentials(path: Path, credentials: SavedLogin) -> None:
    """Write the file atomically. Only this user can read the file. Raises Refused."""
    content = {
        "url": credentials.url,
        "token": credentials.token,
        "name": credentials.name,
        "expires_at": credentials.expires_at,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".credentials-")  # creates the file with mode 0600
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(json.dumps(content, indent=2) + "\n")
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise Refused(f"Cannot write {path}: {error.strerror}. Set {URL} and {TOKEN} instead.") from None


def delete_credentials(path: Path) -> None:
    """Raises Refused."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise Refused(f"Cannot delete {path}: {error.strerror}. Delete this file, because it contains a token.") from None
