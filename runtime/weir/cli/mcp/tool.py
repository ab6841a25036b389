"""Turns a Python function into a tool: the name, the description and the JSON schemas come from its signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Concatenate, ParamSpec, TypeAlias, get_type_hints

import msgspec

from weir.cli.client.api import ApiClient
from weir.cli.client.errors import Refused

ID_MAX = (1 << 53) - 1
"""The largest integer that every JSON reader represents exactly."""
REFERENCE = "#/$defs/{name}"

Parameters = ParamSpec("Parameters")
Id: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=ID_MAX)]
"""The number of a row of the API."""


@dataclass(frozen=True, slots=True)
class Tool:
    """``call`` sends requests with a client. ``proposes`` says whether the tool stores a plan; all other tools only read."""

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    proposes: bool
    arguments: type[msgspec.Struct]
    call: Callable[..., Any]

    def run(self, client: ApiClient, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer as JSON values. Raises Refused if the arguments are invalid, and the errors of the client."""
        try:
            valid = msgspec.convert(arguments, self.arguments)
        except msgspec.ValidationError as error:
            raise Refused(f"The arguments of {self.name} are invalid: {error}.", code="invalid") from None
        answer: dict[str, Any] = self.call(client, **msgspec.structs.asdict(valid))
        return answer


def tool(call: Callable[Concatenate[ApiClient, Parameters], Any], *, note: str = "", proposes: bool = False) -> Tool:
    """Return a tool that calls ``call`` with a client and keyword arguments.

    The description of the tool is the docstring of ``call``, followed by ``note``.
    """
    hints = get_type_hints(call, include_extras=True)
    _, *parameters = inspect.signature(call).parameters.values()
    fields = [
        (one.name, hints[one.name]) if one.default is one.empty else (one.name, hints[one.name], one.default)
        for one in parameters
    ]
    arguments = msgspec.defstruct(call.__name__, fields, kw_only=True, forbid_unknown_fields=True)
    return Tool(
        name=call.__name__,
        description=f"{_description(call)} {note}".rstrip(),
        input_schema=_schema(arguments),
        output_schema=_schema(hints["return"]),
        proposes=proposes,
        arguments=arguments,
        call=call,
    )


def _description(call: Callable[..., Any]) -> str:
    return " ".join((inspect.getdoc(call) or "").split())


def _schema(kind: Any) -> dict[str, Any]:
    """Return a JSON schema with an object at its root, as the protocol requires."""
    (root,), definitions = msgspec.json.schema_components([kind], ref_template=REFERENCE)
    body: dict[str, Any] = definitions.pop(root["$ref"].rpartition("/")[2])
    return body | ({"$defs": definitions} if definitions else {})
