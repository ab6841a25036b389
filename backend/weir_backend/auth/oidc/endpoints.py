"""``/session/oidc``: a browser goes to the provider and comes back."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse

from weir_backend.auth.oidc import flow, service
from weir_backend.auth.oidc.configured import OIDC_BEGINS, oidc_name
from weir_backend.auth.oidc.provider import Provider
from weir_backend.auth.sessions.cookies import is_secure, set_session
from weir_backend.auth.sessions.service import LOGINS
from weir_backend.errors import NotFound, TooMany
from weir_backend.kit.problems import answers
from weir_backend.kit.rates import Rate, origin
from weir_backend.kit.requests import ServicesDep, SessionDep, address_of, request_id_of

STATE_COOKIE = "weir_oidc"
COOKIE_PATH = OIDC_BEGINS
AT_ONCE_MAX = 8
"""A provider that is slow must not take all threads."""
_ONCE = Rate("oidc-states", 1, flow.STATE_S + flow.CLOCKS_DIFFER_S, "answers to one log-in")
router = APIRouter(prefix="/session/oidc", tags=["session"])
Text = Annotated[str | None, Query(max_length=4096)]


def _provider(request: Request, services: ServicesDep) -> Provider:
    """Raises NotFound where nothing is configured, TooMany."""
    settings = services.settings
    if oidc_name(settings) is None:
        raise NotFound(
            "oidc-not-configured",
            "log-in by OpenID Connect is not configured here",
            "set WEIR_OIDC_ISSUER and WEIR_OIDC_CLIENT_ID",
        )
    services.rates.hit(LOGINS, origin(address_of(request)))
    state = request.app.state
    if not hasattr(state, "oidc_provider"):
        state.oidc_provider = Provider(str(settings.oidc_issuer))
    found: Provider = state.oidc_provider
    return found


ProviderDep = Annotated[Provider, Depends(_provider)]


def _away(services: ServicesDep, provider: ProviderDep) -> Response:
    begun = flow.begin()
    answer = RedirectResponse(flow.provider_address(services.settings, provider, begun), 302)
    answer.set_cookie(
        STATE_COOKIE, flow.sealed(services.settings, begun), max_age=flow.STATE_S, path=COOKIE_PATH, httponly=True,
        secure=is_secure(services.settings), samesite="lax",
    )  # fmt: skip
    return answer


def _claims(
    request: Request,
    services: ServicesDep,
    provider: ProviderDep,
    code: Text = None,
    state: Text = None,
    error: Text = None,
    iss: Text = None,
) -> dict[str, Any]:
    begun = flow.opened(services.settings, request.cookies.get(STATE_COOKIE), state)
    try:
        services.rates.hit(_ONCE, begun.state)
    except TooMany:
        raise flow.refused("this log-in has been answered before") from None
    if iss is not None and iss != provider.document()["issuer"]:
        raise flow.refused("the answer comes from another provider")
    if error is not None or not code:
        raise flow.refused("the provider has not let you in")
    return flow.claims_of(services.settings, provider, begun, code)


@router.get(
    "",
    operation_id="begin_oidc_session",
    status_code=302,
    response_class=RedirectResponse,
    responses=answers(404, 429, 503),
)
def begin_oidc_session(away: Annotated[Response, Depends(_away, max_concurrency=AT_ONCE_MAX)]) -> Response:
    """Log in by OpenID Connect: a browser is sent to the provider."""
    return away


@router.get(
    "/callback",
    operation_id="finish_oidc_session",
    status_code=302,
    response_class=RedirectResponse,
    responses=answers(401, 403, 404, 409, 422, 429, 503),
)
def finish_oidc_session(
    claims: Annotated[dict[str, Any], Depends(_claims, max_concurrency=AT_ONCE_MAX)],
    request: Request,
    services: ServicesDep,
    session: SessionDep,
) -> Response:
    """Where the provider sends the browser back to. Who is confirmed has a session, and an account from the first time on."""
    opened = service.log_in(
        session,
        claims,
        role_claim=services.settings.oidc_role_claim,
        anybody=services.settings.oidc_new_users == "viewer",
        address=address_of(request),
        request_id=request_id_of(request),
    )
    answer = RedirectResponse("/", 302)
    set_session(answer, opened.secret, services.settings)
    answer.delete_cookie(STATE_COOKIE, path=COOKIE_PATH, httponly=True, secure=is_secure(services.settings), samesite="lax")
    return answer
