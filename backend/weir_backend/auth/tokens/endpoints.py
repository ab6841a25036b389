"""``/tokens``. No Idempotency-Key: their making is answered with a secret, which is kept nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from weir_backend.auth.sessions.endpoints import BODY_BYTES_MAX
from weir_backend.auth.tokens import service
from weir_backend.auth.tokens.schemas import CreatedToken, NewToken, TokenView
from weir_backend.kit.access import Viewer
from weir_backend.kit.listing import BIGINT_MAX, Listing, listing
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import SessionDep
from weir_backend.models import Token

router = APIRouter(prefix="/tokens", tags=["tokens"], max_body_size=BODY_BYTES_MAX)
TokenId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]


@router.get("", operation_id="list_tokens", response_model=list[TokenView], responses=answers(401, 403, 422))
def list_tokens(
    caller: Viewer, wanted: Annotated[Listing, Depends(listing)], session: SessionDep, response: Response
) -> Sequence[Token]:
    """One's own tokens and sessions; an administrator gets those of others by the filter user_id, all with everybody (true). Further
    filters: id, name (a part of it), kind, live."""
    return service.of(session, caller, wanted, response)


@router.post(
    "", operation_id="create_token", status_code=201, response_model=CreatedToken, responses=answers(401, 403, 409, 413, 422)
)
def create_token(body: NewToken, caller: Viewer, session: SessionDep) -> CreatedToken:
    """Make a token for a program. It is shown in this answer, and never again."""
    secret, token = service.create(
        session, caller, body.name, body.role, rollback=body.rollback, expires_in=timedelta(days=body.expires_in_days)
    )
    return CreatedToken(**TokenView.model_validate(token).model_dump(), token=secret)


@router.get("/{token_id}", operation_id="get_token", response_model=TokenView, responses=answers(401, 403, 404, 422))
def get_token(token_id: TokenId, caller: Viewer, session: SessionDep) -> Token:
    """One of one's own tokens; for administrators anybody's."""
    return service.get(session, caller, token_id)


@router.delete("/{token_id}", operation_id="revoke_token", status_code=204, responses=answers(401, 403, 404, 422))
def revoke_token(token_id: TokenId, caller: Viewer, session: SessionDep) -> None:
    """Revoke one of one's own tokens, or, as an administrator, anybody's. It is refused from now on."""
    service.revoke(session, caller, token_id)
