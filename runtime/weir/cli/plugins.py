"""Commands that a run has no use for: ours for a platform, and those of other packages: entry points of group ``weir.commands``.

Each is a function that adds its commands to a typer.Typer. They are looked for only when a command is asked for that is not there
yet, or when all are listed: a run loads nothing of them.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from importlib.metadata import entry_points
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

    _looked = 0

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        while cmd_name not in self.commands and self._look_further():
            pass
        return self.commands.get(cmd_name)

    def list_commands(self, ctx: Context) -> list[str]:
        while self._look_further():
            pass
        return list(self.commands)

    def _look_further(self) -> bool:
        """Nearest first. False: all places have been looked at."""
        self._looked += 1
        match self._looked:
            case 1:
                add_remote(self.commands)
            case 2:
                add_plugins(self.commands)
            case _:
                return False
        return True


def add_remote(commands: MutableMapping[str, Command]) -> None:
    from weir.cli.remote.commands import add_to

    for name, command in _commands_by(add_to).items():
        commands.setdefault(name, command)


def add_plugins(commands: MutableMapping[str, Command]) -> None:
    """One that cannot be loaded is left out, and said so on standard error: the other commands are as good as before."""
    for point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        try:
            found = _commands_by(point.load())
        except Exception as error:  # noqa: BLE001  # it is somebody else's code
            typer.echo(f"weir: the commands of '{point.name}' ({point.value}) cannot be loaded: {error}", err=True)
            continue
        for name, command in found.items():
            commands.setdefault(name, command)


def _commands_by(add_to: Callable[[typer.Typer], None]) -> dict[str, Command]:
    app = typer.Typer()
    # With a callback typer makes a group, also of a single command.
    app.callback()(lambda: None)
    add_to(app)
    group = typer.main.get_group(app)
    return dict(group.commands)
