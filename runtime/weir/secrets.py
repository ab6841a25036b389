"""The secrets of a job. A job holds references to secrets. Each process reads the values that it uses, and keeps them only in
memory."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from weir.errors import ConfigError, Retry
from weir.protocol.secret_references import VALUE_BYTES_MAX, ReferenceKind, SecretReference

_building_job: ContextVar[bool] = ContextVar("building_job", default=False)
_platform_values: dict[str, str] = {}
"""The secrets of the platform that this run may use, by name."""
_known_values: dict[str, str] = {}
"""The values that this process has read, by reference."""
_REPLACED_CHARACTERS_MIN = 4
"""A shorter value can be a part of any word of a message."""
_PERMANENT = (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError)


@dataclass(frozen=True, slots=True)
class Secret:
    """A reference to a secret. ``parameter`` is the name of the job's parameter, and ``reference`` is its value, for example
    ``env:KAFKA_PASSWORD``.

    A Secret contains no value, so functions, graphs and logs can contain it.
    """

    parameter: str
    reference: str

    def value(self) -> str:
        """Return the value. Call ``value`` in functions and connectors, which run in the slots or in the driver.

        ``env:`` and ``file:`` refer to a variable or a file of the host on which the call runs. A file contains at most 32 KiB of
        UTF-8 text, and a line break at its end is not part of the value. Each process reads a value once, so later calls are
        fast. A new value takes effect when the job starts again.

        Raise ConfigError while a job function builds the job, and if the value cannot be read. The message does not contain the
        value.
        """
        if _building_job.get():
            raise ConfigError(
                f"The job reads the value of secret {self.parameter!r} while the job is built, and could store it in the graph. Pass "
                "the secret to a function or a connector, and call value() there."
            )
        value = _known_values.get(self.reference)
        if value is None:
            value = _known_values[self.reference] = self._read()
        return value

    def _read(self) -> str:
        reference = SecretReference.parse(self.reference)
        if reference is None:
            raise not_a_reference(self.parameter)
        try:
            return _value_of(reference)
        except _Unreadable as error:
            raise ConfigError(
                f"Cannot read secret {self.parameter!r} ({self.reference}) on host {socket.gethostname()}: {error}",
                retry=error.retry,
            ) from None


def not_a_reference(parameter: str) -> ConfigError:
    """Return the error for a parameter whose value is not a reference. The message does not contain the value, which can be
    the secret itself."""
    return ConfigError(
        f"Parameter {parameter!r} is a secret, so its value must be a reference: write {parameter}=env:VARIABLE, "
        f"{parameter}=file:/PATH or {parameter}=secret:NAME (a secret of the platform)."
    )


@contextmanager
def building_job() -> Iterator[None]:
    """While the context is open, ``Secret.value`` raises ConfigError."""
    token = _building_job.set(True)
    try:
        yield
    finally:
        _building_job.reset(token)


def set_platform_secrets(values: Mapping[str, str]) -> None:
    """Set the secrets of the platform that this run may use, by name, and forget all values that this process has read. Call
    ``set_platform_secrets`` when the process begins to work for a run."""
    _known_values.clear()
    _platform_values.clear()
    _platform_values.update(values)


def without_secrets(text: str) -> str:
    """Return ``text`` in which the reference to a secret replaces each value that this process has read. Libraries repeat
    passwords in some of their errors, and Weir reports the errors of slots."""
    for reference, value in _known_values.items():
        if len(value) >= _REPLACED_CHARACTERS_MIN:
            text = text.replace(value, f"<{reference}>")
    return text


class _Unreadable(Exception):
    def __init__(self, reason: str, retry: Retry = Retry.NEVER) -> None:
        super().__init__(reason)
        self.retry = retry


def _value_of(reference: SecretReference) -> str:
    match reference.kind:
        case ReferenceKind.ENV:
            value = os.environ.get(reference.target)
            if value is None:
                raise _Unreadable(
                    f"the environment variable {reference.target} is not set. Set it for the driver and its executors."
                )
            return value
        case ReferenceKind.FILE:
            return _content(reference.target)
        case ReferenceKind.SECRET:
            if reference.target not in _platform_values:
                raise _Unreadable(
                    "only a job that the platform runs can use a secret of the platform, and a parameter of the job must refer to "
                    "the secret. Use env: or file: here."
                )
            return _platform_values[reference.target]


def _content(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(VALUE_BYTES_MAX + 2)
    except OSError as error:
        retry = Retry.NEVER if isinstance(error, _PERMANENT) else Retry.BACKOFF
        raise _Unreadable(f"{error.strerror}. Check the path and the permissions of the file.", retry) from None
    if len(data) > VALUE_BYTES_MAX:
        raise _Unreadable(f"the file is larger than {VALUE_BYTES_MAX >> 10} KiB. Use a file that contains only the secret.")
    try:
        return data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise _Unreadable("the file is not UTF-8 text. Encode a binary secret as Base64.") from None
