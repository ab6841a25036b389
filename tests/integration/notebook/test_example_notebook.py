"""The example notebook, executed in a real kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from weir.spark.java_home import find_java

pytestmark = [pytest.mark.spark, pytest.mark.slow]
NOTEBOOK = Path(__file__).resolve().parents[3] / "examples" / "notebook.ipynb"
TIMEOUT_S = 300


@pytest.fixture(scope="module")
def executed() -> list[Any]:
    """The executed cells of the notebook. A cell that raises an error fails the fixture."""
    find_java()
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "the notebook is stored without outputs"
    NotebookClient(
        notebook, timeout=TIMEOUT_S, kernel_name="python3", resources={"metadata": {"path": NOTEBOOK.parent}}
    ).execute()
    return list(notebook.cells)


def outputs(cells: list[Any], source: str) -> list[Any]:
    """Return the outputs of the only cell that contains ``source``."""
    (cell,) = [cell for cell in cells if cell.cell_type == "code" and source in cell.source]
    return list(cell.outputs)


def test_the_display_of_a_job_is_updated_in_place_until_the_job_ends(executed: list[Any]) -> None:
    (displayed,) = outputs(executed, "run = start(rate=200)")
    assert displayed.output_type == "display_data"
    html = displayed.data["text/html"]
    assert "<b>gross-per-shop</b>" in html and "suspended after checkpoint" in html and "<table" in html
    assert displayed.data["text/plain"].startswith("<JobRun 'gross-per-shop': suspended after checkpoint ")


def test_the_progress_line_shows_the_last_state_and_the_result_is_exact(executed: list[Any]) -> None:
    line, ended = outputs(executed, "run.await_termination()")
    assert line.data["text/plain"].startswith("finished after checkpoint ")
    assert ended.data["text/plain"] == "True"
    (found,) = outputs(executed, "expected = ")
    assert "'shop-2': (2000, " in found.data["text/plain"]


def test_the_progress_of_the_running_job_is_a_dict_with_its_newest_checkpoint(executed: list[Any]) -> None:
    (shown,) = outputs(executed, "run.last_progress")
    assert "'records_per_s': " in shown.data["text/plain"] and "'checkpoint': " in shown.data["text/plain"]


def test_no_cell_prints_warnings_or_errors(executed: list[Any]) -> None:
    streams = [output.text for cell in executed for output in cell.get("outputs", ()) if output.output_type == "stream"]
    assert not [text for text in streams if "WEIR" in text.upper() or "Traceback" in text]
