"""Where the rows of Spark queries are staged: once for a job's history, in a directory that nobody else ever writes to.

A run that begins anew stages anew. Which directory a history reads is in its checkpoints (their graph names it), so a run that
is restored reads that one and no other: splits and positions are those of its files.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import structlog

from weir.errors import ConfigError, InputError
from weir.graph.logical import OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.protocol import codec
from weir.protocol.ids import OperatorUid
from weir.protocol.logview import LogView
from weir.protocol.manifest import Manifest
from weir.storage.base import CheckpointStorage
from weir.storage.checksums import checksum
from weir.storage.layout import STAGED_KIND, JobLayout
from weir.storage.manifests import read_manifest

AGE_S_MIN = 24 * 3600
"""What was touched later than that may be just being staged, or be that of a run before its first checkpoint."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Of one job in one checkpoint storage. ``staging_dir``: where, if the storage is no directory itself, or another is wanted.

    Two histories with the same job name may share a ``staging_dir``: names begin with a checksum of the storage's URL.
    """

    storage: CheckpointStorage
    job: str
    staging_dir: str | None

    def directory(self, uid: OperatorUid, restored: Manifest | None) -> str:
        """For the rows of source ``uid``: the one that ``restored`` reads, staged to the end; else a new one, not there yet.

        Raises ConfigError where there is no place for it, InputError if the rows that the checkpoint reads are gone.
        """
        known = None if restored is None else _named_by(restored).get(uid)
        if known is None:
            return os.path.join(self._root(uid), self._layout.staged_splits(uid), f"{self._history}-{secrets.token_hex(8)}")
        if not os.path.exists(os.path.join(known, "_SUCCESS")):
            raise InputError(
                f"source '{uid}': the rows of its query that the checkpoint goes on with were staged in {known}, and are not there "
                "(no _SUCCESS file): bring them back; the query run again may give other rows in another order"
            )
        return known

    def sweep(self, view: LogView) -> None:
        """Remove what no checkpoint names: left by starts that failed and drivers that died before their first checkpoint.

        For who runs the newest generation of the log, at its end: nobody older reads anything any more, and what somebody
        newer has staged is young. Raises CheckpointError if a manifest cannot be read, with nothing removed, and StorageError.
        """
        candidates = [directory for directory in self._own() if time.time() - _touched_s(directory) >= AGE_S_MIN]
        if not candidates:
            return
        manifests = [read_manifest(self.storage, self._layout, record) for record in view.kept]
        named = {Path(directory).name for manifest in manifests for directory in _named_by(manifest).values()}
        for directory in candidates:
            if directory.name not in named:
                shutil.rmtree(directory, ignore_errors=True)
                log.info("staged rows that no checkpoint reads removed", directory=str(directory))

    @property
    def _layout(self) -> JobLayout:
        return JobLayout(self.job)

    @property
    def _history(self) -> str:
        return checksum((self.storage.url.encode(),)).removeprefix("xxh3:")[:12]

    def _place(self) -> str | None:
        if self.staging_dir is not None:
            return self.staging_dir
        return unquote(urlsplit(self.storage.url).path) if self.storage.url.startswith("file://") else None

    def _root(self, uid: OperatorUid) -> str:
        place = self._place()
        if place is None:
            raise ConfigError(
                f"source '{uid}' is a Spark query, whose rows are staged where all slots can read them: checkpoints are in "
                f"{self.storage.url}, so name a directory that all slots share with --staging-dir (staging_dir=)"
            )
        return place

    def _own(self) -> Iterator[Path]:
        """Directories of this history, by their names. What bears another name is nobody's business here."""
        place = self._place()
        if place is None:
            return
        ours = re.compile(rf"{self._history}-[0-9a-f]{{16}}")
        for directory in Path(place, self._layout.root, "staged-splits").glob("*/*"):
            if ours.fullmatch(directory.name) and directory.is_dir():
                yield directory


def _named_by(manifest: Manifest) -> dict[OperatorUid, str]:
    """Source -> directory of its staged rows."""
    named = {}
    for operator in codec.from_json(PhysicalGraph, manifest.graph).logical.operators:
        config = operator.config
        if operator.kind is OperatorKind.SOURCE and isinstance(config, dict) and config.get("kind") == STAGED_KIND:
            named[operator.uid] = str(config["directory"])
    return named


def _touched_s(directory: Path) -> float:
    """When anything in it was last written, since 1970; now, if it changes while one looks."""
    try:
        return max(path.stat().st_mtime for path in (directory, *directory.rglob("*")))
    except OSError:
        return time.time()
