"""Every error that Weir raises on purpose.

    WeirError
    ├── GraphError          the job as written cannot run (names the operator, says what to do)
    ├── SchemaError         a column or type does not fit (names the operator and the near miss)
    ├── ConfigError         a setting, argument or environment is unusable
    ├── InputError          a source met input it cannot read (names file, line or row group)
    ├── UserCodeError       a user function raised (names the operator; the cause is chained)
    ├── SinkError           a sink could not write, pre-commit or commit
    ├── StorageError        checkpoint storage failed
    │   ├── StorageFull     no space left on the device
    │   ├── UnknownOutcome  a write may or may not have happened; never followed by a deletion
    │   └── NotFound        the object is not there
    ├── CheckpointError     a checkpoint is damaged, half-written, retired or does not exist
    ├── RestoreError        a checkpoint does not fit the graph or the parallelism
    ├── ProtocolError       a peer sent something it must not; the connection is dropped
    ├── AuthenticationError a peer could not prove that it knows the secret
    ├── SlotError           too few slots, or slots cannot be had
    ├── Superseded          a newer generation runs the job: this process must stop for good
    └── JobFailed           the job ended in failure (carries the first cause)

``retry`` says whether trying again can help (of a class as a rule, of an error where it is known), ``domain`` whose fault it is.
"""

from __future__ import annotations

from enum import StrEnum


class Domain(StrEnum):
    """Whose fault an error is."""

    USER = "user"
    EXTERNAL = "external"
    WEIR = "weir"


class Retry(StrEnum):
    """Whether trying the same again can help."""

    NEVER = "never"
    BACKOFF = "backoff"


class WeirError(Exception):
    """Base of all errors raised on purpose. ``str(error)`` is one message: what, where, what to do.

    ``retry``: where whoever raises knows better than the class, as of a disk that did not answer."""

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


class NotFound(StorageError):
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
