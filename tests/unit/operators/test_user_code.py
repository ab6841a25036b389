from __future__ import annotations

import pytest

from weir.operators.user_code import user_code_error


@pytest.mark.parametrize(
    ("path", "shown"), [("/home/x/flights.py", "(line flights.py:1)"), ("/tmp/ipykernel_17/3456.py", "(line notebook cell:1)")]
)
def test_the_error_names_the_file_of_the_function_or_the_notebook(path: str, shown: str) -> None:
    names: dict[str, object] = {}
    exec(compile("def divide(): return 1 / 0", path, "exec"), names)  # noqa: S102
    function = names["divide"]
    assert callable(function)
    with pytest.raises(ZeroDivisionError) as raised:
        function()
    assert shown in str(user_code_error("map 'divider'", function, raised.value, "7"))
