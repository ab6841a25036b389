"""Commands of other packages: entry points of group ``weir.commands``, each a function that adds its commands to a typer.Typer.

They are looked for only when a command is asked for that is not one of ours, or when all are listed: a run loads nothing of them.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeAlias

import typer
import typer.main
from typer.core import TyperGroup

GROUP = "weir.commands"
# Typer has click inside, and does not say where.
Command: TypeAlias = Any
Context: TypeAlias = Any


class WithPlugins(TyperGroup):
    """The commands of this package, and those of others behind them. Ours are never replaced."""

    _looked = False

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        if cmd_name not in self.commands:
            self._look()
        return self.commands.get(cmd_name)

    def list_commands(self, ctx: Context) -> list[str]:
        self._look()
        return list(self.commands)

    def _look(self) -> None:
        if not self._looked:
            self._looked = True
            add_plugins(self.commands)


def add_plugins(commands: MutableMapping[str, Command]) -> None:
    """One that cannot be loaded is left out, and said so on standard error: the other commands are as good as before."""
    for point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        try:
            found = _commands_of(point)
        except Exception as error:  # noqa: BLE001  # it is somebody else's code
            typer.echo(f"weir: the commands of '{point.name}' ({point.value}) cannot be loaded: {error}", err=True)
            continue
        for name, command in found.items():
            commands.setdefault(name, command)


def _commands_of(point: EntryPoint) -> dict[str, Command]:
    app = typer.Typer()
    # With a callback typer makes a group, also of a single command.
    app.callback()(lambda: None)
    point.load()(app)
    group = typer.main.get_group(app)
    return dict(group.commands)
