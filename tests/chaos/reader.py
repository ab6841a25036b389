"""A reader that polls the output directories during a chaos run. The reader checks that all files of an epoch become visible at
the same time. On request, the reader removes output, as a consumer does."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from weir.connectors.files.output_layout import parse_epoch_name

POLL_S = 0.02


class OutputReader(threading.Thread):
    """Polls the directories ``outputs``. ``take`` moves published files to the directory ``taken``."""

    def __init__(self, outputs: Sequence[Path], taken: Path) -> None:
        super().__init__(name="output-reader", daemon=True)
        self.problems: list[str] = []
        self._outputs = outputs
        self._taken = taken
        self._seen: dict[Path, frozenset[str]] = {}
        """For each epoch, the files that were visible when a poll first found the epoch."""
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def run(self) -> None:
        while not self._closed.wait(POLL_S):
            self.poll()

    def close(self) -> None:
        self._closed.set()
        self.join()
        self.poll()

    def poll(self) -> None:
        with self._lock:
            for epoch, files in self._epochs():
                late = files - self._seen.setdefault(epoch, files)
                if late and len(self.problems) < 3:
                    self.problems.append(f"{epoch}: {min(late)} became visible after other files of its epoch")

    def sees_output(self) -> bool:
        return any(self._epochs())

    def take(self, share: float) -> bool:
        """Remove the fraction ``share`` of the visible files of each epoch, as a consumer does. Return whether any file was
        removed."""
        self.poll()
        moved = 0
        with self._lock:
            for epoch, files in self._epochs():
                target = self._taken / epoch.parent.name / epoch.name
                target.mkdir(parents=True, exist_ok=True)
                for name in sorted(files)[: round(share * len(files))]:
                    with contextlib.suppress(FileNotFoundError):
                        os.rename(epoch / name, target / name)
                        moved += 1
        return moved > 0

    def _epochs(self) -> Iterator[tuple[Path, frozenset[str]]]:
        for output in self._outputs:
            for name in os.listdir(output) if output.is_dir() else ():
                if parse_epoch_name(name) is not None:
                    with contextlib.suppress(FileNotFoundError):
                        files = frozenset(os.listdir(output / name))
                        if files:
                            yield output / name, files
