"""``/session/oidc``: login by OpenID Connect."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse

from weir_backend.auth.cookies import is_secure, set_session
from weir_backend.auth.oidc import flow, service
from weir_backend.auth.oidc.provider import OIDC_PATH, Provider, oidc_display_name
from weir_backend.errors import Forbidden, NotFound, TooMany
from weir_backend.kit.dependencies import ServicesDep, SessionDep, address_of, request_id_of
from weir_backend.kit.problems import answers, problem_answer
from weir_backend.kit.rate_limits import RateLimit, origin
from weir_backend.models import Role

STATE_COOKIE = "weir_oidc"
COOKIE_PATH = OIDC_PATH
AT_ONCE_MAX = 8
"""The limit of concurrent requests to the provider. A slow provider must not occupy all threads."""
_REQUESTS = RateLimit("oidc", 60, 60, "logins by OpenID Connect from this address")
"""Each login consists of two requests. Successful logins count too, because each login makes the API send requests to the provider."""
_ONCE = RateLimit("oidc-states", 1, flow.STATE_S + flow.CLOCK_SKEW_S, "responses to one login")
router = APIRouter(prefix="/session/oidc", tags=["session"])
Text = Annotated[str | None, Query(max_length=4096)]


def _provider(request: Request, services: ServicesDep) -> Provider:
    """Raises NotFound if OpenID Connect is not configured, and TooMany after too many login attempts from this address."""
    settings = services.settings
    if oidc_display_name(settings) is None:
        raise NotFound(
            "oidc-not-configured",
            "Login by OpenID Connect is not configured.",
            "Set WEIR_OIDC_ISSUER and WEIR_OIDC_CLIENT_ID.",
        )
    services.rate_limiter.hit(_REQUESTS, origin(address_of(request)))
    state = request.app.state
    if not hasattr(state, "oidc_provider"):
        state.oidc_provider = Provider(str(settings.oidc_issuer))
    found: Provider = state.oidc_provider
    return found


ProviderDep = Annotated[Provider, Depends(_provider)]


def _redirect(services: ServicesDep, provider: ProviderDep) -> Response:
    begun = flow.begin()
    answer = RedirectResponse(flow.authorization_url(services.settings, provider, begun), 302)
    answer.set_cookie(
        STATE_COOKIE, flow.sign_state(services.settings, begun), max_age=flow.STATE_S, path=COOKIE_PATH, httponly=True,
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
    begun = flow.verify_state(services.settings, request.cookies.get(STATE_COOKIE), state)
    try:
        services.rate_limiter.hit(_ONCE, begun.state)
    except TooMany:
        raise flow.refused("This login is already complete.") from None
    if iss is not None and iss != provider.document()["issuer"]:
        raise flow.refused("The response comes from another provider.")
    if error is not None or not code:
        raise flow.refused("The OpenID Connect provider refused the login.")
    return flow.claims_of(services.settings, provider, begun, code)


@router.get(
    "",
    operation_id="begin_oidc_session",
    status_code=302,
    response_class=RedirectResponse,
    responses=answers(404, 429, 503),
)
def begin_oidc_session(redirect: Annotated[Response, Depends(_redirect, max_concurrency=AT_ONCE_MAX)]) -> Response:
    """Start a login by OpenID Connect: redirect the browser to the provider."""
    return redirect


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
    """Complete a login by OpenID Connect: open a session, and create the user at the first login. Each login gives the user the role that the
    identity token contains."""
    opened = service.log_in(
        session,
        claims,
        role_claim=services.settings.oidc_role_claim,
        default=Role.VIEWER if services.settings.oidc_users_without_role == "viewer" else None,
        address=address_of(request),
        request_id=request_id_of(request),
    )
    if isinstance(opened, Forbidden):
        return problem_answer(opened.status, opened.code, opened.detail, opened.next_step)
    answer = RedirectResponse("/", 302)
    set_session(answer, opened.secret, services.settings)
    answer.delete_cookie(STATE_COOKIE, path=COOKIE_PATH, httponly=True, secure=is_secure(services.settings), samesite="lax")
    return answer
