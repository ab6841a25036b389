"""Whether a run belongs to a control plane: whoever starts it there says so in the environment."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path

from weir.errors import ConfigError
from weir.link.http import LinkAddress
from weir.link.run import LinkOptions

URL, TOKEN, SPOOL = "WEIR_RUN_URL", "WEIR_RUN_TOKEN", "WEIR_RUN_SPOOL"


def take_link(environment: MutableMapping[str, str]) -> LinkOptions | None:
    """None: this run is nobody's. Raises ConfigError where only some of it is said.

    The token is taken out of ``environment``: what this process starts, and the user's code in it, has no use for it.
    """
    said = {URL: environment.get(URL, ""), TOKEN: environment.pop(TOKEN, ""), SPOOL: environment.get(SPOOL, "")}
    missing = [name for name, value in said.items() if not value]
    if len(missing) == len(said):
        return None
    if missing:
        raise ConfigError(f"a run of a control plane is told {URL}, {TOKEN} and {SPOOL}; not set: {', '.join(missing)}")
    return LinkOptions(LinkAddress(said[URL], said[TOKEN]), Path(said[SPOOL]))
