from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from types import ModuleType

import pytest

import generate_docs
from weir.protocol import frames, messages


class Light(StrEnum):
    """State of the light."""

    RED = "red"
    """Stop."""
    GREEN = "green"
    BROKEN = "broken"


def module_of(table: dict[Light, frozenset[Light]]) -> ModuleType:
    module = ModuleType("light")
    module.LEGAL = table  # type: ignore[attr-defined]  # as a module of the kernel has it
    return module


def test_a_transition_table_is_rendered_as_a_diagram_with_initial_and_final_states() -> None:
    table = {
        Light.RED: frozenset({Light.GREEN}),
        Light.GREEN: frozenset({Light.BROKEN, Light.RED}),
        Light.BROKEN: frozenset[Light](),
    }
    drawn = "\n".join(generate_docs.state_diagram(module_of(table)))
    arrows = [line.strip() for line in drawn.splitlines() if "-->" in line]
    assert arrows == ["[*] --> red", "red --> green", "green --> red", "green --> broken", "broken --> [*]"]
    assert "State of the light. (`light.LEGAL`)" in drawn
    assert "- **red**: Stop." in drawn


def test_every_message_and_every_frame_is_described() -> None:
    described = generate_docs.control_messages()
    for kind in (*messages.FromSlot.__args__, *messages.ToSlot.__args__):
        assert f"| **{kind.__name__}** |" in described
    for frame in frames.FrameKind:
        assert f"| {frame.name} | {frame.value} |" in generate_docs.data_frames()


def test_check_reports_a_difference_and_does_not_write_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate_docs, "ROOT", tmp_path)
    monkeypatch.setattr(generate_docs, "FOLDER", tmp_path / "docs")
    assert generate_docs.main(["--check"]) == 1
    assert not (tmp_path / "docs").exists()
    assert generate_docs.main([]) == 0
    assert generate_docs.main(["--check"]) == 0
    (tmp_path / "docs" / "states.md").write_text("something else\n")
    assert generate_docs.main(["--check"]) == 1
    assert (tmp_path / "docs" / "states.md").read_text() == "something else\n"
