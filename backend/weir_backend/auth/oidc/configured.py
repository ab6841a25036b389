"""Whether people can log in by OpenID Connect here, and what they are told of it."""

from __future__ import annotations

from weir_backend.settings import Settings

OIDC_BEGINS = "/api/v1/session/oidc"


def oidc_name(settings: Settings) -> str | None:
    """What the provider is called. None: there is none."""
    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        return None
    return settings.oidc_name or settings.oidc_issuer.host or str(settings.oidc_issuer)
