"""The names of all objects in checkpoint storage. Names are the same for every kind of storage::

    <job>/log/00000001.json                                        the job's log, see weir.protocol.job_log
    <job>/checkpoints/<id>/manifest-g<generation>.json             the index of a checkpoint
    <job>/state/<uid>/g<generation>-c<id>-s<subtask>-<attempt>.arrow
    <job>/state/packed.slots/g<generation>-c<id>-<attempt>.pack    small state files of one slot, concatenated
    <job>/staged-splits/<uid>/...                                  staged rows of a Spark query

A manifest names state files relative to ``<job>/`` and gives the offset of each file in its pack. Job names and uids are encoded:
each becomes one unique path segment of letters, digits, ``_``, ``-`` and ``.``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.paths import encode_segment, job_root

STAGED_KIND = "dataframe"
"""The kind of a source that reads the staged rows of a Spark query.

The staged rows are in ``staged-splits``. Staged rows belong to the job, not to a checkpoint.
"""
_LOG_ENTRY = re.compile(r"log/(\d{8,})\.json")
_MANIFEST = re.compile(r"checkpoints/(\d+)/manifest-g(\d+)\.json")
_STATE = re.compile(r"state/[^/]+/g(\d+)-c(\d+)-s\d+-[^/]+\.arrow")
_PACKED = "state/packed.slots/"
"""``packed.slots`` cannot be an encoded uid, because in an encoded uid two hex digits follow each dot."""
_PACK = re.compile(re.escape(_PACKED) + r"g(\d+)-c(\d+)-[^/]+\.pack")


@dataclass(frozen=True, slots=True)
class FileOrigin:
    """The generation and the checkpoint that wrote a file, as parsed from the name of the file."""

    generation: Generation
    checkpoint: CheckpointId


@dataclass(frozen=True, slots=True)
class JobLayout:
    """The object names of one job. Methods return paths relative to the storage root. A path that is called ``relative`` is
    relative to the job's directory."""

    job: str

    @property
    def root(self) -> str:
        """The job's directory, with a trailing ``/``."""
        return job_root(self.job)

    @property
    def log(self) -> str:
        return f"{self.root}log/"

    @property
    def checkpoints(self) -> str:
        return f"{self.root}checkpoints/"

    @property
    def state(self) -> str:
        return f"{self.root}state/"

    def log_entry(self, number: int) -> str:
        assert number >= 1, "log entries are numbered from 1"
        return f"{self.log}{number:08d}.json"

    def absolute(self, relative: str) -> str:
        return self.root + relative

    def relative(self, path: str) -> str:
        assert path.startswith(self.root), f"{path} is not a path of job {self.job}"
        return path[len(self.root) :]

    def staged_splits(self, source: OperatorUid) -> str:
        """Prefix of the staging directories of a source.

        Each start without state creates its own staging directory. A staging directory is needed while the graph of any
        restorable checkpoint reads the directory.
        """
        return f"{self.root}staged-splits/{encode_segment(source)}/"


def state_path(uid: OperatorUid, *, generation: Generation, checkpoint: CheckpointId, subtask: int, attempt: str) -> str:
    """Return the relative path of a state file. ``attempt`` (letters, digits, ``.``, ``-``) makes the name unique."""
    return f"state/{encode_segment(uid)}/g{generation}-c{checkpoint}-s{subtask}-{attempt}.arrow"


def pack_path(*, generation: Generation, checkpoint: CheckpointId, attempt: str) -> str:
    """Return the relative path of a pack. ``attempt`` has the same meaning as in ``state_path``."""
    return f"{_PACKED}g{generation}-c{checkpoint}-{attempt}.pack"


def is_pack(relative: str) -> bool:
    return relative.startswith(_PACKED)


def log_number(relative: str) -> int | None:
    """Return the number of a log entry from its relative path, or None for another path."""
    match = _LOG_ENTRY.fullmatch(relative)
    return int(match[1]) if match else None


def identify(relative: str) -> FileOrigin | None:
    """Return the origin of a state file, pack or manifest, as parsed from its relative path.

    Return None for a file with any other name. Weir never deletes files with other names.
    """
    if match := _STATE.fullmatch(relative) or _PACK.fullmatch(relative):
        return FileOrigin(Generation(int(match[1])), CheckpointId(int(match[2])))
    if match := _MANIFEST.fullmatch(relative):
        return FileOrigin(Generation(int(match[2])), CheckpointId(int(match[1])))
    return None
