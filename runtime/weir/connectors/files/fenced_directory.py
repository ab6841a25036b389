"""A directory that only the newest attempt can change. The attempt is a part of the path of every file in the directory:

    <root>/g<generation>/...

Normally, <root> contains only the directory of the newest attempt. This directory is named g<generation> or
g<generation>.<attempt>. A newer attempt takes over the directory by renaming the directory. After the takeover, an older attempt
cannot rename files into the directory or out of the directory, because the older attempt uses the old name. A takeover fences an
older attempt even if the older attempt was paused between two steps. A check of the job log before each rename would not suffice,
because a coordinator can pause between the check and the rename. On a network file system such as NFS, another host can cache the
old name of the directory, and use the old name until the cache expires.
"""

from __future__ import annotations

import errno
import os
import re

from weir.connectors.files.file_system import FileSystem
from weir.errors import Superseded
from weir.protocol.ids import Attempt, Generation

_DIRECTORY = re.compile(r"g(\d+)(?:\.(\d+))?")
_NO_ATTEMPT = Attempt(Generation(0))


class FencedDirectory:
    def __init__(self, root: str, file_system: FileSystem, *, target: str) -> None:
        """``target`` names the output of the sink in error messages."""
        self._root = root
        self._file_system = file_system
        self._target = target

    def path(self, attempt: Attempt, *names: str) -> str:
        return os.path.join(self._root, f"g{attempt}", *names)

    def owner(self) -> Attempt:
        """Return the newest attempt that has taken over the directory. If there is no such attempt, return attempt 0 of
        generation 0."""
        return max(self._attempts(), default=_NO_ATTEMPT)

    def take_over(self, attempt: Attempt) -> None:
        """Fence older attempts, so that they cannot change the directory after this call. Raises Superseded, OSError.

        If the process crashes during a takeover, the next call completes the takeover. Between the crash and the next call, the
        files can still be in the directory of an older attempt."""
        if self._attempts() == [attempt]:
            return
        while (attempts := self._attempts()) != [attempt]:
            if not attempts:
                # Create the directory under a fixed name. If two coordinators take over at the same time, both use this fixed
                # name. Only one of the two coordinators can then rename the directory.
                self._file_system.make_directories(self._root)
                self._file_system.mkdir(self.path(_NO_ATTEMPT))
                continue
            self._check_not_superseded(attempt, attempts[-1])
            older = max(other for other in attempts if other != attempt)
            try:
                self._file_system.rename(self.path(older), self.path(attempt))
            except FileNotFoundError:
                continue  # another attempt has renamed the directory, so list again
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                # Both directories exist. Another coordinator was paused before it created the older directory, and continued
                # only after the takeover. Therefore, the older directory is empty.
                self._file_system.remove_directory(self.path(older))
        self._file_system.fsync(self._root)

    def check(self, attempt: Attempt) -> None:
        """Raise Superseded if an attempt newer than ``attempt`` has taken over the directory."""
        self._check_not_superseded(attempt, self.owner())

    def _attempts(self) -> list[Attempt]:
        """Return the attempts that have a directory, in ascending order."""
        matches = (_DIRECTORY.fullmatch(name) for name in self._file_system.list(self._root))
        return sorted(Attempt(Generation(int(match[1])), int(match[2] or 0)) for match in matches if match is not None)

    def _check_not_superseded(self, attempt: Attempt, newest: Attempt) -> None:
        if newest > attempt:
            raise Superseded(
                f"{self._target}: generation {newest} now controls the published output. Generation {attempt} stops permanently."
            )
