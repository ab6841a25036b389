"""Converts dataclasses to JSON and back. An unknown field, a missing field or a wrong type raises ProtocolError.

Decoding never evaluates or imports received data. The types come from the annotations of Weir's classes.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import operator
import types
import typing
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from weir.errors import ProtocolError
from weir.protocol.snapshots import JsonValue

T = TypeVar("T")
_JSON_SCALARS = (str, int, float, bool, type(None))
_PLAIN = frozenset(_JSON_SCALARS)


def to_json(value: Any) -> JsonValue:
    """Return the JSON value of a dataclass, named tuple, tuple, enum, dict or scalar."""
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
        return typing.cast(T, _decoder(typing.cast(Any, kind))(value))
    except _DecodeError as error:
        raise ProtocolError(f"{kind.__name__}{error.path}: {error.reason}") from None


class _DecodeError(Exception):
    """``path`` is the path from the outermost value to the wrong value.

    ``path`` is built only while the error propagates, so the decoding of a correct value builds no path.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = ""

    def within(self, prefix: str) -> _DecodeError:
        self.path = prefix + self.path
        return self


_Decoder = Callable[[Any], Any]


def _not(expected: str, value: Any) -> _DecodeError:
    return _DecodeError(f"expected {expected}, got {type(value).__name__}")


def _identity(value: Any) -> Any:
    return value


@functools.cache
def _decoder(kind: Any) -> _Decoder:
    origin = get_origin(kind)
    if isinstance(kind, typing.NewType):
        return _decoder(kind.__supertype__)
    if kind in (JsonValue, Any) or isinstance(kind, typing.ForwardRef):
        return _identity
    if origin in (Union, types.UnionType):
        if any(get_origin(member) is list for member in get_args(kind)):
            return _identity  # This union is JsonValue: no other union contains ``list``.
        return _union_decoder(get_args(kind))
    if origin is tuple:
        return _tuple_decoder(get_args(kind))
    if origin is dict:
        return _dict_decoder(get_args(kind)[1])
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _named_tuple_decoder(kind)
    if dataclasses.is_dataclass(kind):
        return _dataclass_decoder(typing.cast(type, kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum_decoder(kind)
    return _scalar_decoder(kind)


def _scalar_decoder(kind: type) -> _Decoder:
    def decode(value: Any) -> Any:
        if type(value) is kind:
            return value
        if kind is float and type(value) is int:
            return float(value)
        raise _not(kind.__name__, value)

    return decode


def _enum_decoder(kind: type[Enum]) -> _Decoder:
    def decode(value: Any) -> Any:
        try:
            return kind(value)
        except ValueError:
            raise _DecodeError(f"{value!r} is not a {kind.__name__}") from None

    return decode


def _union_decoder(members: tuple[Any, ...]) -> _Decoder:
    present = [_decoder(member) for member in members if member is not type(None)]
    optional = len(present) < len(members)

    def decode(value: Any) -> Any:
        if value is None and optional:
            return None
        for position, member in enumerate(present):
            try:
                return member(value)
            except _DecodeError:
                if position == len(present) - 1:
                    raise
        raise _not("a value", value)

    return decode


def _tuple_decoder(members: tuple[Any, ...]) -> _Decoder:
    if len(members) == 2 and members[1] is Ellipsis:
        item = _decoder(members[0])
        return lambda value: _items(value, itertools.repeat(item))
    items = [_decoder(member) for member in members]

    def decode_fixed(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(items):
            raise _not(f"a list of {len(items)}", value)
        return _items(value, items)

    return decode_fixed


def _items(value: Any, decoders: Iterable[_Decoder]) -> Any:
    if not isinstance(value, list):
        raise _not("a list", value)
    decoded: list[Any] = []
    try:
        for element, decode in zip(value, decoders, strict=False):
            decoded.append(decode(element))
    except _DecodeError as error:
        raise error.within(f"[{len(decoded)}]") from None
    return tuple(decoded)


def _named_tuple_decoder(kind: Any) -> _Decoder:
    hints = get_type_hints(kind)
    decode_fields = _tuple_decoder(tuple(hints[name] for name in kind._fields))
    return lambda value: kind(*decode_fields(value))


def _dict_decoder(item_kind: Any) -> _Decoder:
    item = _decoder(item_kind)

    def decode(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _not("an object", value)
        return _fields(value, dict.fromkeys(value, item))

    return decode


def _fields(value: dict[str, Any], decoders: dict[str, _Decoder]) -> dict[str, Any]:
    decoded: dict[str, Any] = {}
    name = ""
    try:
        for name, element in value.items():
            decoded[name] = decoders[name](element)
    except _DecodeError as error:
        raise error.within(f".{name}") from None
    return decoded


def _dataclass_decoder(kind: type) -> _Decoder:
    fields = {field.name: field for field in dataclasses.fields(kind)}
    items: dict[str, _Decoder] = {}
    required = {
        name
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }

    def decode(value: Any) -> Any:
        if not items:
            # The types are resolved on first use, because a class can refer to itself.
            hints = get_type_hints(kind)
            items.update({name: _decoder(hints[name]) for name in fields})
        if not isinstance(value, dict):
            raise _not("an object", value)
        if not (required <= value.keys() <= fields.keys()):
            raise _DecodeError(
                f"unknown fields {sorted(value.keys() - fields.keys())}, missing fields {sorted(required - value.keys())}"
            )
        return kind(**_fields(value, items))

    return decode


def dumps(value: Any) -> bytes:
    return dump_json(to_json(value))


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
