"""Commands that are loaded on demand: commands that call a control plane, and commands of other packages.

Another package adds commands with an entry point of the group ``weir.commands``. The entry point is a function that receives a
typer.Typer and adds commands to it. Weir loads these commands only if it lists all commands, or if the user runs a command that is
not loaded yet. ``weir run`` is always loaded, so running it loads no other command.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from importlib.metadata import entry_points
from typing import Any, TypeAlias

import typer
import typer.main
from typer.core import TyperGroup

GROUP = "weir.commands"
# Typer contains its own copy of click, and does not export the types of click.
ClickCommand: TypeAlias = Any
ClickContext: TypeAlias = Any


class PluginGroup(TyperGroup):
    """Lists this package's own commands first. A command that is loaded later never replaces a command of the same name."""

    _loaded_stages = 0

    def get_command(self, ctx: ClickContext, cmd_name: str) -> ClickCommand | None:
        while cmd_name not in self.commands and self._load_next():
            pass
        return self.commands.get(cmd_name)

    def list_commands(self, ctx: ClickContext) -> list[str]:
        while self._load_next():
            pass
        return list(self.commands)

    def _load_next(self) -> bool:
        """Load more commands: the first call loads the client commands, and the second call loads the plugins.

        Return False if all commands are loaded.
        """
        self._loaded_stages += 1
        match self._loaded_stages:
            case 1:
                add_client_commands(self.commands)
            case 2:
                add_plugins(self.commands)
            case _:
                return False
        return True


def add_client_commands(commands: MutableMapping[str, ClickCommand]) -> None:
    from weir.cli.commands import add_to

    for name, command in _commands_of(add_to).items():
        commands.setdefault(name, command)


def add_plugins(commands: MutableMapping[str, ClickCommand]) -> None:
    """Add the commands of other packages. A package that fails to load is reported on standard error and skipped."""
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            loaded = _commands_of(point.load())
        except Exception as error:  # noqa: BLE001  # third-party code can raise any exception
            typer.echo(f"weir: Cannot load the commands of '{point.name}' ({point.value}): {error}", err=True)
            continue
        for name, command in loaded.items():
            commands.setdefault(name, command)


def _commands_of(add_to: Callable[[typer.Typer], None]) -> dict[str, ClickCommand]:
    app = typer.Typer()
    # A callback makes typer build a group even if there is only one command.
    app.callback()(lambda: None)
    add_to(app)
    group = typer.main.get_group(app)
    return dict(group.commands)
