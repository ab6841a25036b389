from __future__ import annotations

import pytest

from demo_scenarios import DemoFailed
from upgrade_check import compare_ids


def test_the_upgrade_check_accepts_added_rows_with_higher_ids() -> None:
    compare_ids({"jobs": [1, 2], "plans": []}, {"jobs": [1, 2, 3], "plans": [1]})


@pytest.mark.parametrize(("after", "found"), [([1, 3, 7], r"missing: \[2\]"), ([1, 2, 3, 5, 7], r"added: \[5\]")])
def test_the_upgrade_check_reports_missing_rows_and_rows_added_between_older_rows(after: list[int], found: str) -> None:
    with pytest.raises(DemoFailed, match=found):
        compare_ids({"events": [1, 2, 3, 7]}, {"events": after})
