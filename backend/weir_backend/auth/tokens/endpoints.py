"""``/tokens``. The creation of a token accepts no Idempotency-Key, because its response contains a secret that must not be stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from fastapi import APIRouter, Response

from weir_backend.auth.schemas import TokenCreate, TokenCreatedRead, TokenRead
from weir_backend.auth.sessions.endpoints import BODY_BYTES_MAX
from weir_backend.auth.tokens import service
from weir_backend.kit.access import ViewerCaller
from weir_backend.kit.dependencies import SessionDep
from weir_backend.kit.listing import ListingDep
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Id
from weir_backend.models import Token

router = APIRouter(prefix="/tokens", tags=["tokens"], max_body_size=BODY_BYTES_MAX)


@router.get("", operation_id="list_tokens", response_model=list[TokenRead], responses=answers(401, 403, 422))
def list_tokens(caller: ViewerCaller, wanted: ListingDep, session: SessionDep, response: Response) -> Sequence[Token]:
    """List your tokens and sessions. Administrators list the tokens of another user with the filter `user_id`, and all tokens with `everybody`
    (true). Further filters: `id`, `name` (part of it), `kind`, `live`."""
    return service.list_tokens(session, caller, wanted, response)


@router.post("", operation_id="create_token", status_code=201, responses=answers(401, 403, 409, 413, 422))
def create_token(body: TokenCreate, caller: ViewerCaller, session: SessionDep) -> TokenCreatedRead:
    """Create a token for a program. Only this response contains the token itself."""
    secret, token = service.create(
        session, caller, body.name, body.role, rollback=body.rollback, expires_in=timedelta(days=body.expires_in_days)
    )
    return TokenCreatedRead(**TokenRead.model_validate(token).model_dump(), token=secret)


@router.get("/{token_id}", operation_id="get_token", response_model=TokenRead, responses=answers(401, 403, 404, 422))
def get_token(token_id: Id, caller: ViewerCaller, session: SessionDep) -> Token:
    """Get one of your tokens. Administrators can get any token."""
    return service.get(session, caller, token_id)


@router.delete("/{token_id}", operation_id="revoke_token", status_code=204, responses=answers(401, 403, 404, 422))
def revoke_token(token_id: Id, caller: ViewerCaller, session: SessionDep) -> None:
    """Revoke one of your tokens. Administrators can revoke any token."""
    service.revoke(session, caller, token_id)
