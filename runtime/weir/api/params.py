"""The parameters of a job. To declare and read a parameter, a job calls a method of ``Params`` with a name, default and
help."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias, cast, overload

from weir.errors import ConfigError
from weir.graph.schema import near_miss
from weir.protocol.secret_references import SecretReference
from weir.secrets import Secret, not_a_reference


class ParameterType(StrEnum):
    PATH = "path"
    STR = "str"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    CHOICE = "choice"
    SECRET = "secret"


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()
# Annotations in ``Params`` use aliases such as ``_Str``, because ``Params`` has methods named ``str``, ``int``, ``float`` and
# ``bool``.
_Str: TypeAlias = str
_Int: TypeAlias = int
_Float: TypeAlias = float
_Bool: TypeAlias = bool
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_PLACEHOLDERS: dict[ParameterType, object] = {
    ParameterType.PATH: "", ParameterType.STR: "", ParameterType.INT: 0, ParameterType.FLOAT: 0.0, ParameterType.BOOL: False,
    ParameterType.SECRET: "env:PLACEHOLDER",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared parameter. ``--help`` and the web form for a new job show the fields of each parameter."""

    name: str
    type: ParameterType
    required: bool
    default: str | int | float | bool | None = None
    help: str = ""
    choices: tuple[str, ...] = ()


class Params:
    """Parameter values by name. A value is text (``--set rows=100``) or has the type of its parameter.

    If ``placeholders`` is True, reading a missing parameter returns a placeholder value and raises no error.
    ``declared_params`` passes ``placeholders=True`` to collect the declarations of all parameters.
    """

    def __init__(self, values: Mapping[str, object] | None = None, *, placeholders: bool = False) -> None:
        self._values = dict(values or {})
        self._placeholders = placeholders
        self._declared: dict[str, Parameter] = {}

    @property
    def declared(self) -> tuple[Parameter, ...]:
        """The parameters that the job has read so far, in the order in which the job read them."""
        return tuple(self._declared.values())

    def path(self, name: _Str, default: _Str | os.PathLike[_Str] | _Required | None = REQUIRED, *, help: _Str = "") -> _Str:
        """Return a path of a file or directory, or a URL. A ``~`` at the beginning of a path is replaced by the home directory."""
        default_path = os.fspath(default) if isinstance(default, os.PathLike) else default
        return cast(str, self._get(name, ParameterType.PATH, default_path, help))

    def str(self, name: _Str, default: _Str | _Required | None = REQUIRED, *, help: _Str = "") -> _Str:
        return cast(str, self._get(name, ParameterType.STR, default, help))

    def int(self, name: _Str, default: _Int | _Required | None = REQUIRED, *, help: _Str = "") -> _Int:
        return cast(int, self._get(name, ParameterType.INT, default, help))

    def float(self, name: _Str, default: _Float | _Required | None = REQUIRED, *, help: _Str = "") -> _Float:
        return cast(float, self._get(name, ParameterType.FLOAT, default, help))

    def bool(self, name: _Str, default: _Bool | _Required | None = REQUIRED, *, help: _Str = "") -> _Bool:
        return cast(bool, self._get(name, ParameterType.BOOL, default, help))

    def choice(
        self, name: _Str, choices: Sequence[_Str], default: _Str | _Required | None = REQUIRED, *, help: _Str = ""
    ) -> _Str:
        return cast(str, self._get(name, ParameterType.CHOICE, default, help, tuple(choices)))

    @overload
    def secret(self, name: _Str, default: _Str | _Required = REQUIRED, *, help: _Str = "") -> Secret: ...
    @overload
    def secret(self, name: _Str, default: None, *, help: _Str = "") -> Secret | None: ...
    def secret(self, name: _Str, default: _Str | _Required | None = REQUIRED, *, help: _Str = "") -> Secret | None:
        """Return a reference to a secret, such as a password. The value of the parameter is ``env:VARIABLE``, ``file:/PATH`` or
        ``secret:NAME`` (a secret of the platform), and never the secret itself. ``Secret.value`` reads the secret in the slots.

        The default is None, or an ``env:`` or ``file:`` reference. It cannot be a secret of the platform, because the platform
        passes a secret to a run only if a parameter in the spec refers to it.
        """
        if isinstance(default, str) and not default.startswith(("env:", "file:")):
            raise ConfigError(f"The default of parameter {name!r} must be a reference env:VARIABLE or file:/PATH.")
        reference = self._get(name, ParameterType.SECRET, default, help)
        if reference is None:
            return None
        if SecretReference.parse(reference) is None:
            raise not_a_reference(name)
        return Secret(name, cast(str, reference))

    def check_known(self) -> None:
        """Raise ConfigError if the user set a parameter that the job has not read. Call this method after the job function has
        returned."""
        for name in self._values:
            if name not in self._declared:
                raise ConfigError(f"The job has no parameter {name!r}{near_miss(name, self._declared)}")

    def _get(self, name: _Str, kind: ParameterType, default: Any, help: _Str, choices: tuple[_Str, ...] = ()) -> object:
        required = isinstance(default, _Required)
        parameter = Parameter(name, kind, required, None if required else default, help, choices)
        if self._declared.setdefault(name, parameter) != parameter:
            raise ConfigError(
                f"Parameter {name!r} is declared twice with different types, defaults or help. "
                "Read the parameter once and reuse its value."
            )
        if name in self._values:
            return _parse(parameter, self._values[name])
        if not required:
            return default
        if self._placeholders:
            return choices[0] if choices else _PLACEHOLDERS[kind]
        description = f" ({help})" if help else ""
        similar = difflib.get_close_matches(name, [value for value in self._values if value not in self._declared], n=1)
        hint = f" Did you mean {name!r} when you set {similar[0]!r}?" if similar else ""
        value = "env:VARIABLE" if kind is ParameterType.SECRET else kind.upper()
        raise ConfigError(f"The job needs parameter {name!r}{description}. Set it with --set {name}={value}.{hint}")


def _parse(parameter: Parameter, value: Any) -> object:
    try:
        return _parsed(parameter, value)
    except (ValueError, TypeError):
        expected = f"one of {', '.join(parameter.choices)}" if parameter.choices else f"of type {parameter.type}"
        raise ConfigError(f"Parameter {parameter.name!r} must be {expected}, not {value!r}.") from None


def _parsed(parameter: Parameter, value: Any) -> object:
    match parameter.type:
        case ParameterType.PATH:
            return os.path.expanduser(os.fspath(value))
        case ParameterType.STR if isinstance(value, str):
            return value
        case ParameterType.SECRET:
            return value.reference if isinstance(value, Secret) else value
        case ParameterType.CHOICE if value in parameter.choices:
            return value
        case ParameterType.INT if isinstance(value, str) or type(value) is int:
            return int(value)
        case ParameterType.FLOAT if isinstance(value, str) or type(value) in (int, float):
            return float(value)
        case ParameterType.BOOL if isinstance(value, bool):
            return value
        case ParameterType.BOOL if isinstance(value, str) and value.lower() in (*_TRUE, *_FALSE):
            return value.lower() in _TRUE
    raise ValueError(value)
