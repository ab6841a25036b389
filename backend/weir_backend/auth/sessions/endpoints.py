"""``/session``: the one of whoever calls."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from weir_backend.auth.oidc.configured import OIDC_BEGINS, oidc_name
from weir_backend.auth.passwords import HashingTurn
from weir_backend.auth.sessions import service
from weir_backend.auth.sessions.cookies import clear_session, set_session
from weir_backend.auth.sessions.schemas import CreatedSession, Login, OidcView, PasswordChange, SessionView, VisitView
from weir_backend.kit.access import Permission, Viewer, Visitor, permissions_of
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import ServicesDep, SessionDep, address_of, request_id_of
from weir_backend.models import Token, User

BODY_BYTES_MAX = 64 << 10
router = APIRouter(prefix="/session", tags=["session"], max_body_size=BODY_BYTES_MAX)


@router.post(
    "", operation_id="create_session", status_code=201, response_model=CreatedSession, responses=answers(401, 413, 422, 429)
)
def create_session(
    _: HashingTurn, body: Login, request: Request, response: Response, services: ServicesDep, session: SessionDep
) -> CreatedSession:
    """Log in with name and password. The token comes in the answer, for programs, and as a cookie, for browsers; it lasts 12 hours."""
    opened = service.log_in(
        session,
        services.rates,
        body.name,
        body.password.get_secret_value(),
        address=address_of(request),
        request_id=request_id_of(request),
    )
    set_session(response, opened.secret, services.settings)
    granted = permissions_of(opened.token.role, rollback=opened.token.rollback)
    return CreatedSession(**_view(opened.user, opened.token, granted).model_dump(), token=opened.secret)


@router.get("", operation_id="get_session", response_model=SessionView, responses=answers(401, 403))
def get_session(caller: Viewer, session: SessionDep) -> SessionView:
    """Who is calling, and what he may do with this token."""
    return _view(*service.current(session, caller), caller.permissions)


@router.get("/visit", operation_id="get_visit", response_model=VisitView, responses=answers(429))
def get_visit(visitor: Visitor, services: ServicesDep, session: SessionDep) -> VisitView:
    """What a page asks before anything else: who is logged in, if somebody is, and how one can log in. For everybody; a token that is not
    valid is as good as none."""
    seen = _view(*service.current(session, visitor), visitor.permissions) if visitor is not None else None
    name = oidc_name(services.settings)
    return VisitView(session=seen, oidc=OidcView(name=name, begin=OIDC_BEGINS) if name is not None else None)


@router.delete("", operation_id="delete_session", status_code=204, responses=answers(401, 403, 409))
def delete_session(caller: Viewer, response: Response, services: ServicesDep, session: SessionDep) -> None:
    """Log out: the token is not valid any more, the cookie is cleared."""
    service.log_out(session, caller)
    clear_session(response, services.settings)


@router.put("/password", operation_id="change_own_password", status_code=204, responses=answers(401, 403, 409, 413, 422, 429))
def change_own_password(_: HashingTurn, body: PasswordChange, caller: Viewer, services: ServicesDep, session: SessionDep) -> None:
    """Change one's own password. All other sessions of the user end; tokens for programs go on."""
    service.change_password(
        session, services.rates, caller, body.old_password.get_secret_value(), body.new_password.get_secret_value()
    )


def _view(user: User, token: Token, permissions: frozenset[Permission]) -> SessionView:
    return SessionView(
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
