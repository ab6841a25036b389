"""Job parameters. A job declares a parameter by reading it, and the user sets it as text or as a value."""

from __future__ import annotations

from pathlib import Path

import pytest

from weir.api.params import Parameter, ParameterType, Params
from weir.errors import ConfigError


def test_a_parameter_that_is_set_as_text_is_converted_to_its_declared_type() -> None:
    params = Params({"i": "7", "f": "1.5", "b": "Yes", "s": "x", "p": "~/data", "c": "fast"})
    assert (params.int("i"), params.float("f"), params.bool("b"), params.str("s")) == (7, 1.5, True, "x")
    assert params.path("p") == str(Path.home() / "data")
    assert params.choice("c", ["slow", "fast"]) == "fast"
    assert params.bool("off", False) is False


def test_a_parameter_has_the_value_that_the_user_set_or_its_default_value() -> None:
    params = Params({"i": 7, "f": 2, "b": False, "p": Path("a/b")})
    assert (params.int("i"), params.float("f"), params.bool("b", True), params.path("p")) == (7, 2.0, False, "a/b")
    assert (params.int("j", 3), params.path("q", Path("c")), params.str("r", None)) == (3, "c", None)


def test_parameters_are_listed_in_the_order_of_their_declaration() -> None:
    params = Params(placeholders=True)
    assert (params.path("input", help="flights"), params.int("rows", 10), params.choice("how", ["a", "b"])) == ("", 10, "a")
    assert params.declared == (
        Parameter("input", ParameterType.PATH, True, None, "flights"),
        Parameter("rows", ParameterType.INT, False, 10),
        Parameter("how", ParameterType.CHOICE, True, None, "", ("a", "b")),
    )


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("int", "1.5", "Parameter 'x' must be of type int, not '1.5'"),
        ("int", True, "must be of type int, not True"),
        ("float", "fast", "must be of type float, not 'fast'"),
        ("bool", "maybe", "must be of type bool, not 'maybe'"),
        ("str", 5, "must be of type str, not 5"),
        ("path", 5, "must be of type path, not 5"),
    ],
)
def test_the_error_for_a_value_of_a_wrong_type_names_the_parameter(kind: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        getattr(Params({"x": value}), kind)("x")


def test_the_error_for_an_invalid_choice_lists_all_choices() -> None:
    with pytest.raises(ConfigError, match="Parameter 'x' must be one of a, b, not 'c'"):
        Params({"x": "c"}).choice("x", ["a", "b"])


def test_the_error_for_a_missing_parameter_shows_its_help_and_a_similar_name_that_was_set() -> None:
    with pytest.raises(
        ConfigError,
        match=r"needs parameter 'input' \(flights\). Set it with --set input=PATH. Did you mean 'input' when you set 'inptu'",
    ):
        Params({"inptu": "x"}).path("input", help="flights")


def test_the_error_for_an_unknown_parameter_suggests_the_most_similar_name() -> None:
    params = Params({"rosw": "5"})
    params.int("rows", 1)
    with pytest.raises(ConfigError, match="no parameter 'rosw'; did you mean 'rows'?"):
        params.check_known()


def test_two_different_declarations_of_a_parameter_are_refused() -> None:
    params = Params({"x": "5"})
    assert params.int("x") == params.int("x")
    with pytest.raises(ConfigError, match="'x' is declared twice"):
        params.str("x")
