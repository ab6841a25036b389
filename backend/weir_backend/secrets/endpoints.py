"""Endpoints of secrets, for administrators. The endpoints that receive a value accept no Idempotency-Key, because a hash of the request
would be stored."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Response
from sqlalchemy import select

from weir_backend.kit.access import AdministratorCaller
from weir_backend.kit.dependencies import ServicesDep, SessionDep
from weir_backend.kit.etags import IfMatch, set_etag
from weir_backend.kit.listing import ListingDep, page
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Id
from weir_backend.models import Secret
from weir_backend.secrets import repository, service
from weir_backend.secrets.schemas import SecretCreate, SecretRead, SecretUpdate

router = APIRouter(prefix="/secrets", tags=["secrets"], responses=answers(401, 403, 422))


@router.get("", operation_id="list_secrets", response_model=list[SecretRead])
def list_(session: SessionDep, wanted: ListingDep, response: Response, _: AdministratorCaller) -> Sequence[Secret]:
    """List secrets, without their values. Filters: `id`, `name` (a part of it)."""
    return page(session, select(Secret), wanted, repository.FIELDS, response, unit="secrets")


@router.post("", operation_id="create_secret", response_model=SecretRead, status_code=201, responses=answers(409))
def create(
    draft: SecretCreate, session: SessionDep, services: ServicesDep, caller: AdministratorCaller, response: Response
) -> Secret:
    """Create a secret. A parameter of a job refers to the secret as `secret:NAME`."""
    secret = service.create(session, services.settings, caller, draft)
    set_etag(response, secret.version)
    response.headers["Location"] = f"/api/v1/secrets/{secret.id}"
    return secret


@router.get("/{secret_id}", operation_id="get_secret", response_model=SecretRead, responses=answers(404))
def get(secret_id: Id, session: SessionDep, response: Response, _: AdministratorCaller) -> Secret:
    """Return one secret without its value, with its ETag."""
    secret = service.get(session, secret_id)
    set_etag(response, secret.version)
    return secret


@router.patch("/{secret_id}", operation_id="update_secret", response_model=SecretRead, responses=answers(404, 412, 428))
def change(
    secret_id: Id, wanted: SecretUpdate, session: SessionDep, services: ServicesDep, caller: AdministratorCaller,
    response: Response, seen: IfMatch,
) -> Secret:  # fmt: skip
    """Replace the value or the description of a secret. Jobs use the new value when they start the next time."""
    secret = service.change(session, services.settings, caller, secret_id, seen, wanted)
    set_etag(response, secret.version)
    return secret


@router.delete("/{secret_id}", operation_id="delete_secret", status_code=204, responses=answers(404, 409, 412, 428))
def delete(secret_id: Id, session: SessionDep, caller: AdministratorCaller, seen: IfMatch) -> None:
    """Delete a secret. Fails if the current version of a job refers to the secret."""
    service.delete(session, caller, secret_id, seen)
