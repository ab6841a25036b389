from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import pytest

from weir.errors import ProtocolError
from weir.protocol import codec
from weir.protocol.snapshots import JsonValue


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Point(NamedTuple):
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Leaf:
    name: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Empty:
    pass


@dataclass(frozen=True, slots=True)
class Tree:
    colour: Colour
    point: Point
    leaves: tuple[Leaf, ...]
    pair: tuple[int, str]
    by_name: dict[str, Leaf]
    note: str | None = None
    either: Leaf | Point | None = None
    anything: JsonValue = None
    below: Tree | None = None


TREE = Tree(
    Colour.BLUE,
    Point(3, 4),
    (Leaf("a", 0.5), Leaf("b")),
    (7, "seven"),
    {"x": Leaf("c")},
    either=Point(1, 2),
    anything={"list": [1, "two", None, 2.5, {"deep": True}]},
    below=Tree(Colour.RED, Point(0, 0), (), (0, ""), {}, note="small"),
)


def test_encoded_values_round_trip_through_json() -> None:
    assert codec.loads(Tree, codec.dumps(TREE)) == TREE
    assert codec.to_json(Empty()) == {} and codec.from_json(Empty, {}) == Empty()


def test_the_json_form_uses_plain_objects_and_lists() -> None:
    assert codec.to_json(TREE.below) == {
        "colour": "red", "point": [0, 0], "leaves": [], "pair": [0, ""], "by_name": {}, "note": "small", "either": None,
        "anything": None, "below": None,
    }  # fmt: skip


def test_a_missing_field_gets_its_default_value() -> None:
    assert codec.from_json(Leaf, {"name": "a"}) == Leaf("a", 1.0)
    assert codec.from_json(Leaf, {"name": "a", "weight": 2}).weight == 2.0


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("colour",), "green", "Tree: Invalid enum value 'green' - at `$.colour`"),
        (("point",), [1], "Tree: Expected `array` of length 2, got 1 - at `$.point`"),
        (("point", 1), "4", "Tree: Expected `int`, got `str` - at `$.point[1]`"),
        (("leaves",), {}, "Tree: Expected `array`, got `object` - at `$.leaves`"),
        (("leaves", 1, "weight"), "heavy", "Tree: Expected `float`, got `str` - at `$.leaves[1].weight`"),
        (("leaves", 0), {"weight": 1.0}, "Tree: Object missing required field `name` - at `$.leaves[0]`"),
        (("leaves", 0), {"name": "a", "size": 2}, "Tree: unknown field `$.leaves[0].size`"),
        (("leaves", 0), 5, "Tree: Expected `object`, got `int` - at `$.leaves[0]`"),
        (("pair", 0), True, "Tree: Expected `int`, got `bool` - at `$.pair[0]`"),
        (("by_name", "x", "name"), None, "Tree: Expected `str`, got `null` - at `$.by_name[...].name`"),
        (("note",), 5, "Tree: Expected `str | null`, got `int` - at `$.note`"),
        (("either",), [1, "2"], "Tree: Expected `int`, got `str` - at `$.either[1]`"),
        (("below", "leaves"), [{"name": 1}], "Tree: Expected `str`, got `int` - at `$.below.leaves[0].name`"),
    ],
)
def test_the_error_for_a_value_of_the_wrong_type_names_the_path_to_the_value(
    path: tuple[str | int, ...], value: object, message: str
) -> None:
    written = codec.to_json(TREE)
    holder: object = written
    for step in path[:-1]:
        holder = holder[step]  # type: ignore[index]  # a path through JSON
    holder[path[-1]] = value  # type: ignore[index]  # a path through JSON
    with pytest.raises(ProtocolError) as refused:
        codec.from_json(Tree, written)
    assert str(refused.value) == message


def test_a_value_without_a_json_form_is_a_programming_error() -> None:
    with pytest.raises(TypeError, match="set has no JSON form"):
        codec.to_json({"a": {1, 2}})


def test_nan_is_never_decoded() -> None:
    with pytest.raises(ProtocolError, match="Expected `float`, got `null`"):
        codec.loads(Leaf, codec.dumps(Leaf("a", float("nan"))))
    with pytest.raises(ProtocolError, match="Leaf is not JSON .NaN is not a JSON number"):
        codec.loads(Leaf, b'{"name": "a", "weight": NaN}')


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000, b"null"])
def test_invalid_json_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="Leaf"):
        codec.loads(Leaf, data)
