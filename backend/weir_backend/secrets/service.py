"""Create, update and delete secrets, and provide their values to drivers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.orm import Session

from weir.protocol.secret_references import platform_secrets
from weir_backend.errors import Conflict, NotFound, or_raise
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit, audit_changes
from weir_backend.kit.clock import now
from weir_backend.kit.etags import check_if_match
from weir_backend.models import Secret
from weir_backend.secrets import repository
from weir_backend.secrets.encryption import decrypt, encrypt
from weir_backend.secrets.schemas import SecretCreate, SecretUpdate
from weir_backend.settings import Settings

SECRETS_MAX = 1_000
_NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class ProvidedSecrets:
    """The secrets of one run, by name. ``problem`` is the reason why one of the secrets is missing, or None."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    problem: str | None = None


def get(session: Session, secret_id: int, *, lock: bool = False) -> Secret:
    """Return a secret. Raises NotFound."""
    return or_raise(repository.find(session, secret_id, lock=lock), NotFound("not-found", f"Secret {secret_id} does not exist."))


def create(session: Session, settings: Settings, caller: Caller, draft: SecretCreate) -> Secret:
    """Create a secret. Raises Conflict if the name is taken or there are too many secrets."""
    if repository.is_taken(session, draft.name):
        raise Conflict(
            "name-taken", f"A secret named '{draft.name}' already exists.", "Choose another name, or replace its value."
        )
    if repository.count(session) >= SECRETS_MAX:
        raise Conflict("too-many-secrets", f"There are already {SECRETS_MAX} secrets.", "Delete secrets that you do not need.")
    moment = now()
    secret = Secret(
        name=draft.name, description=draft.description, encrypted=encrypt(settings, draft.name, draft.value.get_secret_value()),
        created_by=caller.user_id, created_at=moment, updated_by=caller.user_id, updated_at=moment, value_changed_at=moment,
    )  # fmt: skip
    session.add(secret)
    session.flush()
    audit(session, caller, "create", "secret", secret.id, after=_as_audited(secret))
    return secret


def change(
    session: Session, settings: Settings, caller: Caller, secret_id: int, seen: str | None, wanted: SecretUpdate
) -> Secret:
    """Update a secret. Raises NotFound, and the errors of ``check_if_match``."""
    secret = get(session, secret_id, lock=True)
    check_if_match(seen, secret.version)
    before, moment = _as_audited(secret), now()
    if wanted.description is not None:
        secret.description = wanted.description
    if wanted.value is not None:
        secret.encrypted = encrypt(settings, secret.name, wanted.value.get_secret_value())
        secret.value_changed_at = moment
    secret.updated_by, secret.updated_at = caller.user_id, moment
    # Record each replacement of the value, although the entry contains no value.
    also = ("value_changed_at",) if wanted.value is not None else ()
    audit_changes(session, caller, "secret", secret_id, before, _as_audited(secret), *also)
    session.flush()
    return secret


def delete(session: Session, caller: Caller, secret_id: int, seen: str | None) -> None:
    """Delete a secret. Raises NotFound, Conflict if the current spec of a job refers to the secret, and the errors of
    ``check_if_match``."""
    secret = get(session, secret_id, lock=True)
    check_if_match(seen, secret.version)
    used = repository.jobs_that_use(session, secret.name)
    if used:
        named = ", ".join(f"'{name}'" for name in used[:_NAMED_MAX])
        more = f" and {len(used) - _NAMED_MAX} more" if len(used) > _NAMED_MAX else ""
        raise Conflict(
            "in-use",
            f"The current versions of these jobs refer to secret '{secret.name}': {named}{more}.",
            "Change or delete these jobs first.",
        )
    audit(session, caller, "delete", "secret", secret_id, before=_as_audited(secret))
    session.delete(secret)
    session.flush()


def provide(session: Session, settings: Settings, parameters: Mapping[str, Any]) -> ProvidedSecrets:
    """Return the secrets to which the values of ``parameters`` refer. Only a driver may receive the result."""
    names = platform_secrets(parameters.values())
    values: dict[str, str] = {}
    for secret in repository.by_names(session, names) if names else ():
        value = decrypt(settings, secret.name, secret.encrypted)
        if value is None:
            return ProvidedSecrets(
                problem=f"Secret '{secret.name}' cannot be decrypted, because the secret key of the installation has changed. Set its "
                f"value again: weir secret set {secret.name}"
            )
        values[secret.name] = value
    for parameter, reference in parameters.items():
        missing = platform_secrets([reference]) - values.keys()
        for name in missing:
            return ProvidedSecrets(
                problem=f"Parameter '{parameter}' refers to {reference}, but the platform has no secret '{name}'. Ask an administrator "
                f"to create it: weir secret set {name}"
            )
    return ProvidedSecrets(values)


def _as_audited(secret: Secret) -> dict[str, Any]:
    return {
        "name": secret.name,
        "description": secret.description,
        "value_changed_at": secret.value_changed_at.isoformat(),
    }
