"""Schemas of the actions in API responses."""

from __future__ import annotations

from enum import StrEnum

from weir_backend.kit.schemas import ResponseModel


class Verb(StrEnum):
    START = "start"
    SUSPEND = "suspend"
    CANCEL = "cancel"
    SAVEPOINT = "savepoint"
    CHECKPOINT = "checkpoint"
    PROFILE = "profile"
    UPGRADE = "upgrade"
    RESCALE = "rescale"
    RESTORE = "restore"
    START_WITHOUT_STATE = "start_without_state"
    ROLL_BACK = "roll_back"
    PIN = "pin"
    UNPIN = "unpin"
    VERIFY = "verify"
    DELETE = "delete"
    APPROVE = "approve"
    APPLY = "apply"
    DISCARD = "discard"
    UNDO = "undo"


class ActionRead(ResponseModel):
    """A verb that can be applied to the resource. `reason` says why the verb is not allowed now and what the user can do; it is null if the verb is
    allowed."""

    verb: Verb
    allowed: bool
    reason: str | None
