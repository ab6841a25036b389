"""Generates ``docs/protocol/`` from the code, so that the documents agree with the code.

Running ``python tools/generate_docs.py`` writes the files. With ``--check``, the program fails if the files differ from the code.

The file ``states.md`` contains a diagram of every table ``LEGAL`` in ``weir.kernel``. Such a table maps each state to the states
that may follow. The file ``messages.md`` describes the control messages. The file ``frames.md`` describes the frames of the data
plane.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
import re
import sys
import typing
from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from pathlib import Path
from types import ModuleType

import weir.kernel
from weir.protocol import frames, messages

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "protocol"
NOTICE = "<!-- Written by `make docs` from the code. Do not edit. -->\n"


def summary(thing: object) -> str:
    """Return the docstring of a module or class on one line, or nothing for the generated docstring of a dataclass."""
    text = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    if isinstance(thing, type) and text.startswith(f"{thing.__name__}("):
        return ""
    return prose(" ".join(text.split()))


def prose(text: str) -> str:
    """Convert a docstring to Markdown."""
    return text.replace("::\n", ":\n").replace("``", "`")


def member_docs(kind: type) -> dict[str, str]:
    """Return the documentation strings of attributes. The strings are read from the source, because Python discards them."""
    source = inspect.getsource(kind)
    found = re.findall(r'^    (\w+)(?:: [^=\n]+)?(?: = [^\n]+)?\n    """(.*?)"""', source, re.MULTILINE | re.DOTALL)
    return {name: prose(" ".join(text.split())) for name, text in found}


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def kernel_modules() -> Iterator[ModuleType]:
    for info in sorted(pkgutil.iter_modules(weir.kernel.__path__), key=lambda module: module.name):
        yield importlib.import_module(f"weir.kernel.{info.name}")


def state_diagram(module: ModuleType) -> Iterator[str]:
    table: dict[Enum, frozenset[Enum]] = module.LEGAL
    kind = type(next(iter(table)))
    order = list(kind)
    yield f"\n## {kind.__name__}\n"
    yield f"{summary(kind)} (`{module.__name__}.LEGAL`)\n".lstrip()
    yield "```mermaid\nstateDiagram-v2"
    reached = {state for following in table.values() for state in following}
    first = [state for state in order if state not in reached] or order[:1]
    yield from (f"    [*] --> {state.value}" for state in first)
    for state in order:
        for target in sorted(table.get(state, frozenset()), key=order.index):
            yield f"    {state.value} --> {target.value}"
        if not table.get(state):
            yield f"    {state.value} --> [*]"
    yield "```"
    described = member_docs(kind)
    if described:
        yield ""
        yield from (f"- **{state.value}**: {described[state.name]}" for state in order if state.name in described)


def states() -> str:
    lines = [
        NOTICE,
        "# State machines",
        "",
        "Each state machine is a table in one module of the kernel, and only this module makes the transitions of the table.",
    ]
    for module in kernel_modules():
        if hasattr(module, "LEGAL"):
            lines.extend(state_diagram(module))
    return "\n".join(lines) + "\n"


def message_section(title: str, kinds: tuple[type, ...]) -> Iterator[str]:
    yield f"\n## {title}\n"
    yield "| message | fields | meaning |\n|---|---|---|"
    for kind in kinds:
        described = member_docs(kind)
        meaning = " ".join([summary(kind), *(f"`{name}`: {text}" for name, text in described.items())]).strip()
        shown = ", ".join(f"`{field.name}: {field.type}`" for field in fields(kind))
        yield f"| **{kind.__name__}** | {cell(shown)} | {cell(meaning)} |"


def control_messages() -> str:
    lines = [NOTICE, "# Control messages", "", prose(inspect.cleandoc(messages.__doc__ or "")), ""]
    lines.append('On the wire: `["Name", {fields}]` as UTF-8 JSON.')
    lines.extend(message_section("Slot to coordinator", typing.get_args(messages.FromSlot)))
    lines.extend(message_section("Coordinator to slot", typing.get_args(messages.ToSlot)))
    return "\n".join(lines) + "\n"


def data_frames() -> str:
    described = member_docs(frames.FrameKind)
    lines = [NOTICE, "# Frames of the data plane", "", prose(inspect.cleandoc(frames.__doc__ or "")), ""]
    lines.append(f"Version {frames.VERSION}; a header has {frames.HEADER_BYTES} bytes.\n")
    lines.append("| kind | number | meaning |\n|---|---|---|")
    lines.extend(f"| {kind.name} | {kind.value} | {cell(described.get(kind.name, ''))} |" for kind in frames.FrameKind)
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    expected = {"states.md": states(), "messages.md": control_messages(), "frames.md": data_frames()}
    drifted = False
    for name, text in expected.items():
        path = FOLDER / name
        present = path.read_text() if path.exists() else ""
        if present == text:
            continue
        if "--check" in arguments:
            drifted = True
            shown = path.relative_to(ROOT)
            difference = difflib.unified_diff(
                present.splitlines(), text.splitlines(), f"{shown} (is)", f"{shown} (should be)", n=1
            )
            print("\n".join(list(difference)[:40]))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"wrote {path.relative_to(ROOT)}")
    if drifted:
        print("docs/protocol/ differs from the code: run `make docs` and commit the result.")
    return 1 if drifted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
