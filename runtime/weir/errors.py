"""The errors that Weir raises on purpose.

    WeirError
    ├── GraphError          the job cannot run as written (names the operator and the correction)
    ├── SchemaError         a column or type does not match (names the operator and the nearest name)
    ├── ConfigError         a setting, an argument or the environment is invalid
    ├── InputError          a source cannot read its input (names the file, line or row group)
    ├── UserCodeError       a user function raised an error (names the operator; the cause is chained)
    ├── SinkError           a sink cannot write, pre-commit or commit
    ├── StorageError        checkpoint storage failed
    │   ├── StorageFull     no space left on the device
    │   ├── UnknownOutcome  it is unknown whether a write has taken effect, so its object must not be deleted
    │   └── ObjectNotFound  the object does not exist
    ├── CheckpointError     a checkpoint is damaged, incomplete, retired or missing
    ├── RestoreError        the graph or its parallelism cannot restore a checkpoint
    ├── ProtocolError       a peer violated the protocol; the connection is dropped
    ├── AuthenticationError a peer cannot prove that it knows the secret
    ├── SlotError           too few slots
    ├── Superseded          a newer generation runs the job, so this process must stop
    └── JobFailed           the job failed (contains the first cause)

``retry`` says whether a retry can help: each class has a default, which an instance can override. ``domain`` names the cause
of the error.
"""

from __future__ import annotations

from enum import StrEnum


class Domain(StrEnum):
    """The cause of an error: the user, an external system, or Weir itself."""

    USER = "user"
    EXTERNAL = "external"
    WEIR = "weir"


class Retry(StrEnum):
    """Whether a retry can help."""

    NEVER = "never"
    BACKOFF = "backoff"


class WeirError(Exception):
    """Base of all errors that Weir raises on purpose. ``str(error)`` is one message: what failed, where, and what to do.

    ``retry`` overrides the default of the class, for example for a disk that has not answered.
    """

    domain: Domain = Domain.WEIR
    retry: Retry = Retry.NEVER

    def __init__(self, *arguments: object, retry: Retry | None = None) -> None:
        super().__init__(*arguments)
        if retry is not None:
            self.retry = retry


class GraphError(WeirError):
    domain = Domain.USER


class SchemaError(GraphError):
    pass


class ConfigError(WeirError):
    domain = Domain.USER


class InputError(WeirError):
    domain = Domain.EXTERNAL


class UserCodeError(WeirError):
    domain = Domain.USER


class SinkError(WeirError):
    domain = Domain.EXTERNAL


class StorageError(WeirError):
    domain = Domain.EXTERNAL
    retry = Retry.BACKOFF


class StorageFull(StorageError):
    pass


class UnknownOutcome(StorageError):
    pass


class ObjectNotFound(StorageError):
    retry = Retry.NEVER


class CheckpointError(WeirError):
    domain = Domain.EXTERNAL


class RestoreError(WeirError):
    domain = Domain.USER


class ProtocolError(WeirError):
    retry: Retry = Retry.BACKOFF


class AuthenticationError(WeirError):
    domain = Domain.EXTERNAL


class SlotError(WeirError):
    domain = Domain.EXTERNAL
    retry = Retry.BACKOFF


class Superseded(WeirError):
    pass


class JobFailed(WeirError):
    pass
