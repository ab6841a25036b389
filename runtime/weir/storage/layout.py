"""Where everything is: the names of objects in checkpoint storage, the same on every kind of storage::

    <job>/log/00000001.json                                        the job's log, see weir.protocol.joblog
    <job>/checkpoints/<id>/manifest-g<generation>.json             what belongs to a checkpoint
    <job>/state/<uid>/g<generation>-c<id>-s<subtask>-<attempt>.arrow
    <job>/state/packed.slots/g<generation>-c<id>-<attempt>.pack    small state files of one slot, one behind the other
    <job>/staged-splits/<uid>/...                                  input that Spark has planned and scanned

A manifest names state files relative to ``<job>/``, and says where in a pack each begins. Job names and uids are encoded so that any of them
is one path segment of letters, digits, ``_``, ``-`` and ``.``, and no two of them are the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.paths import encode_segment, job_root

STAGED_KIND = "dataframe"
"""Of a source, in a graph: its rows lie in ``staged-splits``, are no part of any checkpoint, and belong to one history of one job."""
_LOG_ENTRY = re.compile(r"log/(\d{8,})\.json")
_MANIFEST = re.compile(r"checkpoints/(\d+)/manifest-g(\d+)\.json")
_STATE = re.compile(r"state/[^/]+/g(\d+)-c(\d+)-s\d+-[^/]+\.arrow")
_PACKED = "state/packed.slots/"
"""No encoded uid: in those two hex digits follow a dot."""
_PACK = re.compile(re.escape(_PACKED) + r"g(\d+)-c(\d+)-[^/]+\.pack")


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """Who wrote a file of the layout, as its name says."""

    generation: Generation
    checkpoint: CheckpointId


@dataclass(frozen=True, slots=True)
class JobLayout:
    """Names of one job's objects. Methods give paths from the storage's root; ``relative`` ones begin at the job's directory."""

    job: str

    @property
    def root(self) -> str:
        """With a ``/`` at its end."""
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
        assert number >= 1, "the log's first entry is number 1"
        return f"{self.log}{number:08d}.json"

    def absolute(self, relative: str) -> str:
        return self.root + relative

    def relative(self, path: str) -> str:
        assert path.startswith(self.root), f"{path} is no path of job {self.job}"
        return path[len(self.root) :]

    def staged_splits(self, source: OperatorUid) -> str:
        """Prefix of the directories of a source's staged rows, one for each run that began anew; needed as long as a checkpoint
        that reads it can be restored."""
        return f"{self.root}staged-splits/{encode_segment(source)}/"


def state_path(uid: OperatorUid, *, generation: Generation, checkpoint: CheckpointId, subtask: int, attempt: str) -> str:
    """Relative. ``attempt``: whatever makes the name unique (letters, digits, ``.``, ``-``)."""
    return f"state/{encode_segment(uid)}/g{generation}-c{checkpoint}-s{subtask}-{attempt}.arrow"


def pack_path(*, generation: Generation, checkpoint: CheckpointId, attempt: str) -> str:
    """Relative. ``attempt`` as for ``state_path``."""
    return f"{_PACKED}g{generation}-c{checkpoint}-{attempt}.pack"


def is_pack(relative: str) -> bool:
    return relative.startswith(_PACKED)


def log_number(relative: str) -> int | None:
    """Of a log entry's path; None: it is something else."""
    match = _LOG_ENTRY.fullmatch(relative)
    return int(match[1]) if match else None


def identify(relative: str) -> FileIdentity | None:
    """Of a state file, a pack or a manifest; None: it is something else, which nobody here may judge."""
    if match := _STATE.fullmatch(relative) or _PACK.fullmatch(relative):
        return FileIdentity(Generation(int(match[1])), CheckpointId(int(match[2])))
    if match := _MANIFEST.fullmatch(relative):
        return FileIdentity(Generation(int(match[2])), CheckpointId(int(match[1])))
    return None
