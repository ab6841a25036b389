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


def test_a_transition_table_is_rendered_as_a_state_diagram() -> None:
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


def test_the_generated_protocol_documents_describe_every_message_and_every_frame() -> None:
    described = generate_docs.control_messages()
    for kind in (*messages.FromSlot.__args__, *messages.ToSlot.__args__):
        assert f"| **{kind.__name__}** |" in described
    for frame in frames.FrameKind:
        assert f"| {frame.name} | {frame.value} |" in generate_docs.data_frames()


def test_the_check_option_reports_differences_and_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate_docs, "ROOT", tmp_path)
    monkeypatch.setattr(generate_docs, "FOLDER", tmp_path / "docs")
    assert generate_docs.main(["--check"]) == 1
    assert not (tmp_path / "docs").exists()
    assert generate_docs.main([]) == 0
    assert generate_docs.main(["--check"]) == 0
    (tmp_path / "docs" / "states.md").write_text("something else\n")
    assert generate_docs.main(["--check"]) == 1
    assert (tmp_path / "docs" / "states.md").read_text() == "something else\n"
