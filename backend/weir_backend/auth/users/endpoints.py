"""``/users``."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy import select

from weir_backend.auth import repository
from weir_backend.auth.passwords import HashingTurn, hashed
from weir_backend.auth.schemas import UserCreate, UserRead, UserUpdate
from weir_backend.auth.sessions.endpoints import BODY_BYTES_MAX
from weir_backend.auth.users import service
from weir_backend.kit.access import AdministratorCaller
from weir_backend.kit.dependencies import SessionDep
from weir_backend.kit.etags import IfMatch, set_etag
from weir_backend.kit.listing import ListingDep, page
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Id
from weir_backend.models import User

router = APIRouter(prefix="/users", tags=["users"], max_body_size=BODY_BYTES_MAX)


@router.get("", operation_id="list_users", responses=answers(401, 403, 422))
def list_users(_: AdministratorCaller, wanted: ListingDep, session: SessionDep, response: Response) -> list[UserRead]:
    """List users. Filters: `id`, `name` (part of it), `role`, `rollback`, `disabled`."""
    return [UserRead.of(user) for user in page(session, select(User), wanted, repository.USERS, response, unit="users")]


@router.post("", operation_id="create_user", status_code=201, responses=answers(401, 403, 409, 413, 422))
def create_user(
    _: HashingTurn, body: UserCreate, caller: AdministratorCaller, session: SessionDep, response: Response
) -> UserRead:
    """Create a user."""
    password_hash = hashed(body.password.get_secret_value()) if body.password is not None else None
    user = service.create(session, caller, body.name, body.role, rollback=body.rollback, password_hash=password_hash)
    set_etag(response, user.version)
    return UserRead.of(user)


@router.get("/{user_id}", operation_id="get_user", responses=answers(401, 403, 404, 422))
def get_user(user_id: Id, _: AdministratorCaller, session: SessionDep, response: Response) -> UserRead:
    """Get a user."""
    user = service.get(session, user_id)
    set_etag(response, user.version)
    return UserRead.of(user)


@router.patch("/{user_id}", operation_id="change_user", responses=answers(401, 403, 404, 409, 412, 413, 422, 428))
def change_user(
    _: HashingTurn,
    user_id: Id,
    body: UserUpdate,
    version: IfMatch,
    caller: AdministratorCaller,
    session: SessionDep,
    response: Response,
) -> UserRead:
    """Update the role, permissions, status or password of a user. If the role is lowered or the account is
    disabled, the change applies immediately to all tokens of the user. A new password ends all sessions of the user."""
    password_hash = hashed(body.password.get_secret_value()) if body.password is not None else None
    wanted = body.model_dump(exclude_none=True, exclude={"password"})
    user = service.change(session, caller, user_id, version, wanted, password_hash=password_hash)
    set_etag(response, user.version)
    return UserRead.of(user)


@router.delete("/{user_id}", operation_id="delete_user", status_code=204, responses=answers(401, 403, 404, 409, 412, 422))
def delete_user(user_id: Id, version: IfMatch, caller: AdministratorCaller, session: SessionDep) -> None:
    """Delete a user and their tokens. The audit log keeps the entries of the user. If-Match is optional."""
    service.delete(session, caller, user_id, version)
