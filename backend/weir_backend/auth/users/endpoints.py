"""``/users``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from weir_backend.auth import repository
from weir_backend.auth.passwords import HashingTurn, hashed
from weir_backend.auth.sessions.endpoints import BODY_BYTES_MAX
from weir_backend.auth.users import service
from weir_backend.auth.users.schemas import NewUser, UserChange, UserView
from weir_backend.kit.access import Administrator
from weir_backend.kit.listing import BIGINT_MAX, Listing, listing
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import SessionDep
from weir_backend.kit.versions import etag, if_match

router = APIRouter(prefix="/users", tags=["users"], max_body_size=BODY_BYTES_MAX)
UserId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
IfMatch = Annotated[str | None, Depends(if_match)]


@router.get("", operation_id="list_users", response_model=list[UserView], responses=answers(401, 403, 422))
def list_users(
    _: Administrator, wanted: Annotated[Listing, Depends(listing)], session: SessionDep, response: Response
) -> list[UserView]:
    """All accounts. Filters: id, name (a part of it), role, rollback, disabled."""
    return [UserView.of(user) for user in repository.users(session, wanted, response)]


@router.post("", operation_id="create_user", status_code=201, response_model=UserView, responses=answers(401, 403, 409, 413, 422))
def create_user(_: HashingTurn, body: NewUser, caller: Administrator, session: SessionDep, response: Response) -> UserView:
    """Make an account."""
    kept = hashed(body.password.get_secret_value()) if body.password is not None else None
    user = service.create(session, caller, body.name, body.role, rollback=body.rollback, password_hash=kept)
    etag(response, user.version)
    return UserView.of(user)


@router.get("/{user_id}", operation_id="get_user", response_model=UserView, responses=answers(401, 403, 404, 422))
def get_user(user_id: UserId, _: Administrator, session: SessionDep, response: Response) -> UserView:
    """One account, with its ETag."""
    user = service.get(session, user_id)
    etag(response, user.version)
    return UserView.of(user)


@router.patch(
    "/{user_id}",
    operation_id="change_user",
    response_model=UserView,
    responses=answers(401, 403, 404, 409, 412, 413, 422, 428),
)
def change_user(
    _: HashingTurn,
    user_id: UserId,
    body: UserChange,
    version: IfMatch,
    caller: Administrator,
    session: SessionDep,
    response: Response,
) -> UserView:
    """Change role, rollback, disabled or password. A role that is taken away, or a disabled account, counts at once, for all its tokens;
    with a new password all sessions of the user end."""
    kept = hashed(body.password.get_secret_value()) if body.password is not None else None
    wanted = body.model_dump(exclude_none=True, exclude={"password"})
    user = service.change(session, caller, user_id, version, wanted, password_hash=kept)
    etag(response, user.version)
    return UserView.of(user)


@router.delete("/{user_id}", operation_id="delete_user", status_code=204, responses=answers(401, 403, 404, 409, 412, 422))
def delete_user(user_id: UserId, version: IfMatch, caller: Administrator, session: SessionDep) -> None:
    """Delete an account and its tokens. What it did stays in the audit. If-Match may be given."""
    service.delete(session, caller, user_id, version)
