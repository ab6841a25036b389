"""Dataclasses to JSON and back, strictly: an unknown field, a missing one or a wrong type is a ProtocolError.

Nothing here evaluates or imports what arrives; types come from the annotations of our own classes.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from weir.errors import ProtocolError
from weir.protocol.snapshots import JsonValue

T = TypeVar("T")
_JSON_SCALARS = (str, int, float, bool, type(None))


def to_json(value: Any) -> JsonValue:
    """A JSON value of dataclasses, named tuples, tuples, enums, dicts and scalars."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, _JSON_SCALARS):
        return value
    raise TypeError(f"{type(value).__name__} has no JSON form")


def from_json(kind: type[T], value: Any) -> T:
    """The inverse of ``to_json``. Raises ProtocolError naming the place."""
    return typing.cast(T, _decoder(typing.cast(Any, kind))(value, kind.__name__))


_Decoder = Callable[[Any, str], Any]


def _fail(where: str, expected: str, value: Any) -> ProtocolError:
    return ProtocolError(f"{where}: expected {expected}, got {type(value).__name__}")


@functools.cache
def _decoder(kind: Any) -> _Decoder:
    origin = get_origin(kind)
    if isinstance(kind, typing.NewType):
        return _decoder(kind.__supertype__)
    if kind in (JsonValue, Any) or isinstance(kind, typing.ForwardRef):
        return lambda value, where: value
    if origin in (Union, types.UnionType):
        if any(get_origin(member) is list for member in get_args(kind)):
            return lambda value, where: value  # JsonValue spelled out by get_type_hints; no other field is a list
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
    def decode(value: Any, where: str) -> Any:
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            raise _fail(where, kind.__name__, value)
        return value

    return decode


def _enum_decoder(kind: type[Enum]) -> _Decoder:
    def decode(value: Any, where: str) -> Any:
        try:
            return kind(value)
        except ValueError:
            raise ProtocolError(f"{where}: {value!r} is no {kind.__name__}") from None

    return decode


def _union_decoder(members: tuple[Any, ...]) -> _Decoder:
    present = [_decoder(member) for member in members if member is not type(None)]
    optional = len(present) < len(members)

    def decode(value: Any, where: str) -> Any:
        if value is None and optional:
            return None
        for position, member in enumerate(present):
            try:
                return member(value, where)
            except ProtocolError:
                if position == len(present) - 1:
                    raise
        raise _fail(where, "a value", value)

    return decode


def _tuple_decoder(members: tuple[Any, ...]) -> _Decoder:
    if len(members) == 2 and members[1] is Ellipsis:
        item = _decoder(members[0])

        def decode_many(value: Any, where: str) -> Any:
            if not isinstance(value, list):
                raise _fail(where, "a list", value)
            return tuple(item(element, f"{where}[{index}]") for index, element in enumerate(value))

        return decode_many
    items = [_decoder(member) for member in members]

    def decode_fixed(value: Any, where: str) -> Any:
        if not isinstance(value, list) or len(value) != len(items):
            raise _fail(where, f"a list of {len(items)}", value)
        return tuple(item(element, f"{where}[{index}]") for index, (item, element) in enumerate(zip(items, value, strict=True)))

    return decode_fixed


def _named_tuple_decoder(kind: Any) -> _Decoder:
    hints = get_type_hints(kind)
    decode_fields = _tuple_decoder(tuple(hints[name] for name in kind._fields))
    return lambda value, where: kind(*decode_fields(value, where))


def _dict_decoder(item_kind: Any) -> _Decoder:
    item = _decoder(item_kind)

    def decode(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            raise _fail(where, "an object", value)
        return {key: item(element, f"{where}.{key}") for key, element in value.items()}

    return decode


def _dataclass_decoder(kind: type) -> _Decoder:
    hints = get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}
    items: dict[str, _Decoder] = {}
    required = {
        name
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }

    def decode(value: Any, where: str) -> Any:
        if not items:
            items.update({name: _decoder(hints[name]) for name in fields})
        if not isinstance(value, dict):
            raise _fail(where, "an object", value)
        unknown = value.keys() - fields.keys()
        missing = required - value.keys()
        if unknown or missing:
            raise ProtocolError(f"{where}: unknown fields {sorted(unknown)}, missing fields {sorted(missing)}")
        return kind(**{name: items[name](element, f"{where}.{name}") for name, element in value.items()})

    return decode


def dumps(value: Any) -> bytes:
    return json.dumps(to_json(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def loads(kind: type[T], data: bytes | bytearray | memoryview) -> T:
    try:
        value = json.loads(bytes(data))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"{kind.__name__}: not JSON ({error})") from None
    return from_json(kind, value)
