"""Converts dataclasses to JSON and back. An unknown field, a missing field or a wrong type raises ProtocolError.

Decoding never evaluates or imports received data. The types come from the annotations of Weir's classes.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import operator
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

import msgspec

from weir.errors import ProtocolError
from weir.protocol.snapshots import JsonValue

T = TypeVar("T")
_JSON_SCALARS = (str, int, float, bool, type(None))
_PLAIN = frozenset(_JSON_SCALARS)


def to_json(value: Any) -> JsonValue:
    """Return the JSON value of a dataclass, named tuple, tuple, enum, dict or scalar. Bytes become base64 text."""
    return _ENCODERS[type(value)](value)


_Encoder = Callable[[Any], JsonValue]


class _Encoders(dict[type, _Encoder]):
    def __missing__(self, kind: type) -> _Encoder:
        self[kind] = encoder = _new_encoder(kind)
        return encoder


_ENCODERS = _Encoders()


def _new_encoder(kind: type) -> _Encoder:
    if dataclasses.is_dataclass(kind):
        return _dataclass_encoder(tuple(field.name for field in dataclasses.fields(kind)))
    if issubclass(kind, Enum):
        return lambda value: to_json(value.value)
    if issubclass(kind, (tuple, list)):
        return lambda value: [_ENCODERS[type(item)](item) for item in value]
    if issubclass(kind, dict):
        return lambda value: {str(key): to_json(item) for key, item in value.items()}
    if issubclass(kind, _JSON_SCALARS):
        return lambda value: value
    if kind is bytes:
        return lambda value: base64.b64encode(value).decode("ascii")
    raise TypeError(f"{kind.__name__} has no JSON form")


def _dataclass_encoder(names: tuple[str, ...]) -> _Encoder:
    if len(names) < 2:
        return lambda value: {name: to_json(getattr(value, name)) for name in names}
    # attrgetter is fast, because it reads all fields in one call. An acknowledgement contains hundreds of small objects.
    fields = operator.attrgetter(*names)

    def encode(value: Any) -> JsonValue:
        return {
            name: item if type(item) in _PLAIN else _ENCODERS[type(item)](item)
            for name, item in zip(names, fields(value), strict=True)
        }  # fmt: skip

    return encode


def from_json(kind: type[T], value: Any) -> T:
    """The inverse of ``to_json``. Raises ProtocolError with the path of the wrong value."""
    try:
        decoded = msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ProtocolError(f"{kind.__name__}: {error}") from None
    # msgspec ignores unknown fields of dataclasses. ``to_json`` returns all known fields.
    if unknown := _unknown_field(value, to_json(decoded)):
        raise ProtocolError(f"{kind.__name__}: unknown field `${unknown}`")
    return decoded


def _unknown_field(value: Any, known: Any) -> str | None:
    """Return the path of the first field in ``value`` that is not in ``known``, or None."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        step = f".{key}" if isinstance(value, dict) else f"[{key}]"
        if isinstance(value, dict) and key not in known:
            return step
        if type(item) in (dict, list) and (below := _unknown_field(item, known[key])) is not None:
            return step + below
    return None


def dumps(value: Any, *, errors: str = "strict") -> bytes:
    """Return the JSON value of ``value`` as compact UTF-8. See ``dump_json`` for ``errors``. NaN becomes null."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        if errors == "strict":
            raise
        return dump_json(to_json(value), errors=errors)


def loads(kind: type[T], data: bytes | bytearray | memoryview) -> T:
    return from_json(kind, parse_json(data, kind.__name__))


def dump_json(value: Any, *, errors: str = "strict") -> bytes:
    """Return a JSON value as compact UTF-8.

    ``errors`` is the error handler of ``str.encode``. File names can contain unpaired surrogates.
    """
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode(errors=errors)


def _reject_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def parse_json(data: bytes | bytearray | memoryview, what: str) -> Any:
    """Return the JSON value. Raises a ProtocolError that names ``what`` if ``data`` is not JSON."""
    try:
        return json.loads(bytes(data), parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"{what} is not JSON ({error})") from None
