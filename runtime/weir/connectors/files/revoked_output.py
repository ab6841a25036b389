"""Stores revoked output, and fences older coordinators that revoke or reinstate output. A revoked file has this path:

    <out>/_weir/abandoned/g<generation>/<branch>/part-...

There is only one directory g<generation>. Its name contains the last generation that revoked or reinstated output. A newer
generation takes over the directory by renaming the directory. After this rename, an older generation cannot rename files into the
directory or link files from it, because the older generation uses the old name. This also holds if the older generation was paused
at any step. Checking the job log before each rename would not suffice, because a coordinator can pause between the check and the
rename. On a network file system such as NFS, another host can cache the old name. The old name then works on that host until the
cache expires.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from weir.connectors.files.file_system import FileSystem
from weir.connectors.files.output_layout import OutputLayout, PartName
from weir.errors import Superseded
from weir.protocol.ids import Generation

_DIRECTORY = re.compile(r"g(\d+)")
_NO_GENERATION = Generation(0)


@dataclass(frozen=True, slots=True)
class RevokedPart:
    path: str
    final: str
    """The name that the file has when it is published."""
    part: PartName


class RevokedOutput:
    def __init__(self, layout: OutputLayout, file_system: FileSystem) -> None:
        self._layout = layout
        self._file_system = file_system

    def owner(self) -> Generation:
        """Return the newest generation that revoked or reinstated output, or 0 if no generation did so."""
        return max(self._generations(), default=_NO_GENERATION)

    def take_over(self, generation: Generation) -> None:
        """Fence older generations. After this call, older generations cannot revoke or reinstate output. Raises Superseded,
        OSError.

        If the process crashes at any step, the next call completes the takeover. Until then, an older directory can contain the
        revoked parts."""
        root = self._layout.revoked
        while (generations := self._generations()) != [generation]:
            if not generations:
                # Create the directory under a fixed name. If two coordinators then take over at the same time, only one of them can
                # rename the directory.
                self._file_system.make_directories(root)
                self._file_system.mkdir(self._directory(_NO_GENERATION))
                continue
            self._check_not_superseded(generation, generations[-1])
            older = max(other for other in generations if other != generation)
            try:
                self._file_system.rename(self._directory(older), self._directory(generation))
            except FileNotFoundError:
                continue  # another generation has renamed the directory, so list again
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                # Both directories exist. The older directory is empty: a coordinator that was paused in this method has created it
                # after the takeover.
                self._file_system.remove_directory(self._directory(older))
        self._file_system.fsync(root)

    def check(self, generation: Generation) -> None:
        """Raise Superseded if a newer generation has taken over."""
        self._check_not_superseded(generation, self.owner())

    def make_branch(self, generation: Generation, branch: str) -> str:
        """Create the directory for output of ``branch``. Raises FileNotFoundError if another generation has taken over."""
        path = os.path.join(self._directory(generation), self._layout.checked_branch(branch))
        self._file_system.mkdir(path)
        self._file_system.fsync(self._directory(generation))
        return path

    def parts(self, generation: Generation) -> Iterator[RevokedPart]:
        """Iterate over the revoked parts of all branches."""
        directory = self._directory(generation)
        for branch in self._file_system.list(directory):
            for name in self._file_system.list(os.path.join(directory, branch)):
                part = PartName.parse(name)
                if part is not None:
                    yield RevokedPart(os.path.join(directory, branch, name), part.final(name.rpartition(".")[2]), part)

    def find(self, final: str, generation: Generation) -> str | None:
        """Return the path of the revoked part with the final name ``final``, or None. The path is valid until a newer generation
        takes over."""
        return next((part.path for part in self.parts(generation) if part.final == final), None)

    def remove_empty_branches(self, generation: Generation) -> None:
        directory = self._directory(generation)
        for branch in self._file_system.list(directory):
            if not self._file_system.list(os.path.join(directory, branch)):
                self._file_system.remove_directory(os.path.join(directory, branch))

    def _generations(self) -> list[Generation]:
        """Return the generations in the names of the directories ``g<generation>``, in ascending order."""
        matches = (_DIRECTORY.fullmatch(name) for name in self._file_system.list(self._layout.revoked))
        return sorted(Generation(int(match.group(1))) for match in matches if match is not None)

    def _directory(self, generation: Generation) -> str:
        return os.path.join(self._layout.revoked, f"g{generation}")

    def _check_not_superseded(self, generation: Generation, newest: Generation) -> None:
        if newest > generation:
            raise Superseded(
                f"{self._layout.out}: generation {newest} now controls the published output. Generation {generation} stops for good."
            )
