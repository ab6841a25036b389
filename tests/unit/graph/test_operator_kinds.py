"""Every operator kind has properties and a constructor."""

from __future__ import annotations

import pytest

from weir.graph.logical import OperatorKind
from weir.graph.operator_kinds import OPERATOR_KINDS
from weir.operators.factory import CONSTRUCTORS


@pytest.mark.parametrize("kind", OperatorKind)
def test_every_operator_kind_has_properties_and_a_constructor(kind: OperatorKind) -> None:
    assert kind in OPERATOR_KINDS
    assert kind in CONSTRUCTORS


def test_the_description_of_a_source_says_whether_it_follows_its_input() -> None:
    describe = OPERATOR_KINDS[OperatorKind.SOURCE].describe
    assert [describe({"kind": "text", "follow": follow}) for follow in (None, {"settle_ms": 1})] == [
        "text",
        "text, follows its input",
    ]


def test_all_keyed_operator_kinds_are_stateful() -> None:
    assert all(properties.stateful for properties in OPERATOR_KINDS.values() if properties.keyed)
