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
    url, token, spool = environment.get(URL), environment.pop(TOKEN, None), environment.get(SPOOL)
    if url is None and token is None and spool is None:
        return None
    missing = [name for name, value in ((URL, url), (TOKEN, token), (SPOOL, spool)) if not value]
    if url is None or token is None or spool is None or missing:
        raise ConfigError(f"a run of a control plane is told {URL}, {TOKEN} and {SPOOL}; not set: {', '.join(missing)}")
    return LinkOptions(LinkAddress(url, token), Path(spool))
