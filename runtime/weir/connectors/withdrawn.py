"""Where taken-back output is kept, and the fence between coordinators that take back and give back.

    <out>/_weir/abandoned/g<generation>/<branch>/part-...

There is one directory g<generation>, of the generation that took back or gave back last. A newer one takes it over by renaming
it, so from then on every rename into it and every link out of it that an older one still tries finds no such directory,
at whatever step that one was paused. No look at a log could do that: between the look and the step there is always time to be
paused in. (Where other machines cache names, as on NFS, the old name may work there for as long as it is cached.)
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from weir.connectors.disk import Disk
from weir.connectors.staging import OutputLayout, PartName
from weir.errors import Superseded
from weir.protocol.ids import Generation

_PLACE = re.compile(r"g(\d+)")
_NOBODY = Generation(0)


@dataclass(frozen=True, slots=True)
class WithdrawnPart:
    path: str
    final: str
    """The name that it has when published."""
    part: PartName


class Withdrawn:
    def __init__(self, layout: OutputLayout, disk: Disk) -> None:
        self._layout = layout
        self._disk = disk

    def owner(self) -> Generation:
        """The newest generation that took or gave back; 0: none has."""
        return max(self._places(), default=_NOBODY)

    def take_over(self, generation: Generation) -> None:
        """From here on no older generation takes or gives back anything. Raises Superseded, OSError.

        At every cut what is kept is in one of the places, and the next call goes on."""
        root = self._layout.abandoned
        while (places := self._places()) != [generation]:
            if not places:
                # Always the same first name: of two that start at once only one can rename it.
                self._disk.make_directory(root)
                self._disk.make_entry(self._place(_NOBODY))
                continue
            self._refuse(generation, places[-1])
            older = max(place for place in places if place != generation)
            try:
                self._disk.rename(self._place(older), self._place(generation))
            except FileNotFoundError:
                continue  # another generation was quicker: look again who
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                # Both are there: the older one was made by somebody who slept since it looked, and has nothing in it.
                self._disk.remove_directory(self._place(older))
        self._disk.fsync(root)

    def check(self, generation: Generation) -> None:
        """Raises Superseded if another generation has taken over since."""
        self._refuse(generation, self.owner())

    def make_branch(self, generation: Generation, branch: str) -> str:
        """The directory for what leaves ``branch``. Raises FileNotFoundError if another generation has taken over since."""
        path = os.path.join(self._place(generation), self._layout.checked_branch(branch))
        self._disk.make_entry(path)
        self._disk.fsync(self._place(generation))
        return path

    def parts(self, generation: Generation) -> Iterator[WithdrawnPart]:
        """Whatever branch they left."""
        place = self._place(generation)
        for branch in self._disk.list(place):
            for name in self._disk.list(os.path.join(place, branch)):
                part = PartName.parse(name)
                if part is not None:
                    yield WithdrawnPart(os.path.join(place, branch, name), part.final(name.rpartition(".")[2]), part)

    def find(self, final: str, generation: Generation) -> str | None:
        """Where it is that would be published as ``final``, as long as ``generation`` is the owner; its place is gone after that."""
        return next((kept.path for kept in self.parts(generation) if kept.final == final), None)

    def remove_empty_branches(self, generation: Generation) -> None:
        place = self._place(generation)
        for branch in self._disk.list(place):
            if not self._disk.list(os.path.join(place, branch)):
                self._disk.remove_directory(os.path.join(place, branch))

    def _places(self) -> list[Generation]:
        """Ascending."""
        found = (_PLACE.fullmatch(name) for name in self._disk.list(self._layout.abandoned))
        return sorted(Generation(int(match.group(1))) for match in found if match is not None)

    def _place(self, generation: Generation) -> str:
        return os.path.join(self._layout.abandoned, f"g{generation}")

    def _refuse(self, generation: Generation, newest: Generation) -> None:
        if newest > generation:
            raise Superseded(
                f"{self._layout.out}: generation {newest} decides what is visible here now; generation {generation} stops for good"
            )
