"""``/session``: the session of the caller."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from weir_backend.auth.cookies import clear_session, set_session
from weir_backend.auth.oidc.provider import OIDC_PATH, oidc_display_name
from weir_backend.auth.passwords import HashingTurn
from weir_backend.auth.schemas import (
    LoginRequest,
    LoginStatusRead,
    OidcProviderRead,
    PasswordUpdate,
    SessionCreatedRead,
    SessionRead,
)
from weir_backend.auth.sessions import service
from weir_backend.kit.access import OptionalCaller, Permission, ViewerCaller, permissions_of
from weir_backend.kit.dependencies import ServicesDep, SessionDep, address_of, request_id_of
from weir_backend.kit.problems import answers
from weir_backend.models import Token, User

BODY_BYTES_MAX = 64 << 10
router = APIRouter(prefix="/session", tags=["session"], max_body_size=BODY_BYTES_MAX)


@router.post("", operation_id="create_session", status_code=201, responses=answers(401, 413, 422, 429))
def create_session(
    _: HashingTurn, body: LoginRequest, request: Request, response: Response, services: ServicesDep, session: SessionDep
) -> SessionCreatedRead:
    """Log in with name and password. The session token is valid for 12 hours. The response contains the token for programs, and sets it as a
    cookie for browsers."""
    opened = service.log_in(
        session,
        services.rate_limiter,
        body.name,
        body.password.get_secret_value(),
        address=address_of(request),
        request_id=request_id_of(request),
    )
    set_session(response, opened.secret, services.settings)
    granted = permissions_of(opened.token.role, rollback=opened.token.rollback)
    return SessionCreatedRead(**_read_session(opened.user, opened.token, granted).model_dump(), token=opened.secret)


@router.get("", operation_id="get_session", responses=answers(401, 403))
def get_session(caller: ViewerCaller, session: SessionDep) -> SessionRead:
    """Get the caller and the permissions of the token."""
    return _read_session(*service.current(session, caller), caller.permissions)


@router.get("/status", operation_id="get_login_status", responses=answers(429))
def get_login_status(visitor: OptionalCaller, services: ServicesDep, session: SessionDep) -> LoginStatusRead:
    """Get the current session and the available ways to log in. This request requires no token, and an invalid token is ignored."""
    seen = _read_session(*service.current(session, visitor), visitor.permissions) if visitor is not None else None
    name = oidc_display_name(services.settings)
    return LoginStatusRead(session=seen, oidc=OidcProviderRead(name=name, login_path=OIDC_PATH) if name is not None else None)


@router.delete("", operation_id="delete_session", status_code=204, responses=answers(401, 403, 409))
def delete_session(caller: ViewerCaller, response: Response, services: ServicesDep, session: SessionDep) -> None:
    """Log out: revoke the session token and clear the cookie."""
    service.log_out(session, caller)
    clear_session(response, services.settings)


@router.put("/password", operation_id="change_own_password", status_code=204, responses=answers(401, 403, 409, 413, 422, 429))
def change_own_password(
    _: HashingTurn, body: PasswordUpdate, caller: ViewerCaller, services: ServicesDep, session: SessionDep
) -> None:
    """Change your password. Your other sessions end; API tokens remain valid."""
    service.change_password(
        session, services.rate_limiter, caller, body.old_password.get_secret_value(), body.new_password.get_secret_value()
    )


def _read_session(user: User, token: Token, permissions: frozenset[Permission]) -> SessionRead:
    return SessionRead(
        user_id=user.id,
        name=user.name,
        role=user.role,
        rollback=user.rollback,
        permissions=sorted(permissions),
        has_password=user.password_hash is not None,
        token_id=token.id,
        token_kind=token.kind,
        expires_at=token.expires_at,
    )
