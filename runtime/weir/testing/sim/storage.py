"""Simulated storage for objects, the job log and sink output. Storage calls can fail, write half an object, or lose their answer.
A power cut undoes the changes that are not synced.

``SimStorage`` is the storage, in which every call is one atomic effect. ``StoragePort`` is the view of one process. On a
thread of the process, each call takes time, during which the process can pause or die.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar, cast

from weir.errors import ObjectNotFound, StorageError, Superseded, UnknownOutcome
from weir.protocol.ids import Generation
from weir.protocol.snapshots import Committable
from weir.storage.base import StoredObject
from weir.testing.sim.records import SimRow
from weir.testing.sim.simulation import Simulation
from weir.testing.sim.threads import Threads

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StorageFaults:
    """For each kind of fault, the probability that it hits a call."""

    fails: float = 0.0
    """The call has no effect and raises an error."""
    tears_objects: float = 0.0
    """The write leaves half of the object and raises an error."""
    loses_answers: float = 0.0
    """The answer is lost, so the caller does not know whether the call has taken effect."""
    reads_fail: float = 0.0
    syncs_fail: float = 0.0
    """The write takes effect, but its directory is not synced, and the caller gets an error. A power cut undoes the write, unless
    a later write syncs the directory."""


NO_FAULTS = StorageFaults()


class Torn:
    """An object whose write was interrupted."""


@dataclass(frozen=True, slots=True)
class Staged:
    """``uncertain``: the writer received no confirmation."""

    committable: Committable
    rows: tuple[SimRow, ...]
    staged_ns: int
    uncertain: bool


class StorageObserver(Protocol):
    """Receives calls from the storage. The storage calls a separate method for each kind of effect."""

    def on_created(self, path: str, data: bytes, creator: str) -> None: ...
    def on_deleted(self, path: str) -> None: ...
    def on_published(self, paths: Collection[str]) -> None: ...
    def on_put_back(self, paths: Collection[str]) -> None:
        """``paths``: the objects of the backup."""
        ...

    def on_power_cut(self, lost: Collection[str]) -> None:
        """``lost``: the objects that the power cut has removed."""
        ...


class SimStorage:
    def __init__(self, simulation: Simulation, faults: StorageFaults) -> None:
        self._simulation = simulation
        self._names = 0
        self.faults = faults
        self.observer: StorageObserver | None = None
        self.objects: dict[str, object] = {}
        self.staged: dict[str, Staged] = {}
        self.published: dict[str, Staged] = {}
        self.revoked: dict[str, tuple[str, Staged]] = {}
        """Revoked output by path, with the branch of the output."""
        self.taken: dict[str, Staged] = {}
        """Output that a consumer has taken after it was published."""
        self.has_receipts = False
        """Whether sinks keep receipts of published output, as file sinks do. In the simulator, sinks keep receipts only after a
        backup has replaced the job log. Without receipts, only the job log prevents a second commit of output that a consumer has
        taken."""
        self.fenced_by = Generation(0)
        """The newest generation that has fenced older generations. Fenced generations can no longer publish, revoke or reinstate
        output."""
        self.all_staged: dict[str, Staged] = {}
        self._unsynced: dict[str, Callable[[], None]] = {}
        """For each path whose newest change is not synced, a call that undoes this change."""

    # ---- checkpoint storage --------------------------------------------------------------------

    def create(self, path: str, data: bytes, creator: str) -> bool:
        """Create the object if it does not exist."""
        self._simulation.step("create", f"{path} by {creator}")
        undo = None if path in self.objects else lambda: self._lose(path)
        return self._write(f"create {path}", path, lambda: self._create(path, data, creator), undo)

    def _create(self, path: str, data: bytes, creator: str) -> bool:
        if path in self.objects:
            return False
        self.objects[path] = data
        if self.observer is not None:
            self.observer.on_created(path, data, creator)
        return True

    def put(self, path: str, value: object) -> None:
        """Every attempt uses a unique path, so a torn object is never mistaken for a complete object."""
        self._simulation.step("put", path)
        if self._simulation.chance(self.faults.tears_objects):
            self.objects[path] = Torn()
            raise StorageError(f"writing {path} was interrupted")
        self._write(f"put {path}", path, lambda: self.objects.__setitem__(path, value), lambda: self._lose(path))

    def get(self, path: str) -> object:
        if self._simulation.chance(self.faults.reads_fail):
            raise StorageError(f"reading {path} failed")
        if path not in self.objects:
            raise ObjectNotFound(f"{path} does not exist")
        return self.objects[path]

    def list(self, prefix: str) -> list[StoredObject]:
        if self._simulation.chance(self.faults.reads_fail):
            raise StorageError(f"listing {prefix} failed")
        return [StoredObject(path, 1, 0) for path in sorted(self.objects) if path.startswith(prefix)]

    def delete(self, path: str) -> None:
        self._simulation.step("delete", path)
        self._mutate(f"delete {path}", lambda: self._delete(path))

    def _delete(self, path: str) -> None:
        """A deletion is not synced, so a power cut can bring the object back."""
        value = self.objects.pop(path, None)
        if value is None:
            return
        self._unsynced[path] = lambda: self._bring_back(path, value)
        if self.observer is not None:
            self.observer.on_deleted(path)

    def unique_name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}-{self._names}"

    # ---- sink output -----------------------------------------------------------------------------

    def stage(self, path: str, committable: Committable, rows: tuple[SimRow, ...]) -> None:
        """Stage output durably. Readers do not see staged output."""
        self._simulation.step("stage", path)
        if self._simulation.chance(self.faults.fails):
            raise StorageError(f"staging {path} failed")
        is_lost = self._simulation.chance(self.faults.loses_answers)
        if not is_lost or self._simulation.chance(0.6):
            staged = Staged(committable, rows, self._simulation.now_ns, is_lost)
            self.staged[path] = self.all_staged[path] = staged
        if is_lost:
            raise UnknownOutcome(f"staging {path}: no answer")

    def publish(self, paths: Sequence[str], generation: Generation) -> tuple[str, ...]:
        """Publish the staged output of one epoch.

        Atomic and idempotent. Return the paths that are neither staged nor known to be published. If the result is not empty, the
        call publishes nothing. Raises Superseded if a newer generation has fenced ``generation``.
        """
        self._simulation.step("publish", " ".join(paths))
        staged = [path for path in paths if path in self.staged]
        undo = (lambda: self._unpublish(staged)) if staged else None
        return self._write(f"publish {paths}", paths[0], lambda: self._publish(paths, generation), undo)

    def _publish(self, paths: Sequence[str], generation: Generation) -> tuple[str, ...]:
        if self.fenced_by > generation:
            raise Superseded(f"generation {self.fenced_by} controls the output now")
        known = {*self.published, *(self.taken if self.has_receipts else ())}
        missing = tuple(path for path in paths if path not in self.staged and path not in known)
        if not missing:
            staged = [path for path in paths if path in self.staged]
            self.published.update((path, self.staged.pop(path)) for path in staged)
            if self.observer is not None and staged:
                self.observer.on_published(staged)
        return missing

    def take(self, paths: Collection[str]) -> None:
        """Let a consumer take published output."""
        for path in paths:
            self.taken[path] = self.published.pop(path)

    def discard_staged(self, doomed: Callable[[Committable], bool]) -> None:
        self._simulation.step("discard")
        for path in [path for path, staged in self.staged.items() if doomed(staged.committable)]:
            del self.staged[path]

    def fence(self, generation: Generation) -> None:
        """Fence older generations. Raises Superseded if a newer generation has fenced ``generation``."""
        self._simulation.step("fence", f"generation {generation}")
        if self.fenced_by > generation:
            raise Superseded(f"generation {self.fenced_by} controls the output now")
        self.fenced_by = generation

    def revoke(self, path: str, branch: str, generation: Generation) -> None:
        """Hide output from readers."""
        self._simulation.step("revoke", path)
        if not self._is_current(generation):
            raise Superseded(f"generation {self.fenced_by} controls the output now")
        staged = self.published.pop(path, None) or self.staged.pop(path, None)
        if staged is not None:
            self.revoked[path] = (branch, staged)

    def reinstate(self, path: str, generation: Generation) -> None:
        self._simulation.step("reinstate", path)
        if not self._is_current(generation):
            raise Superseded(f"generation {self.fenced_by} controls the output now")
        if path in self.revoked:
            self.published[path] = self.revoked.pop(path)[1]

    def _is_current(self, generation: Generation) -> bool:
        return generation == self.fenced_by

    # ---- faults ----------------------------------------------------------------------------------

    def cut_power(self) -> None:
        """Undo the writes that are not synced, and some of the deletions."""
        before = frozenset(self.objects)
        for undo in self._unsynced.values():
            undo()
        self._unsynced.clear()
        for path in [path for path, staged in self.staged.items() if staged.uncertain]:
            del self.staged[path]
        if self.observer is not None:
            self.observer.on_power_cut(before - self.objects.keys())

    def _lose(self, path: str) -> None:
        self.objects.pop(path, None)

    def _bring_back(self, path: str, value: object) -> None:
        if self._simulation.chance(0.5):
            self.objects.setdefault(path, value)

    def _unpublish(self, paths: Collection[str]) -> None:
        for path in paths:
            if path in self.published:
                self.staged[path] = self.published.pop(path)

    def is_synced(self) -> bool:
        """Return whether all writes and deletions are synced. A power cut would then undo none of them."""
        return not self._unsynced

    def backup(self) -> dict[str, object]:
        return dict(self.objects)

    def put_back(self, backup: dict[str, object]) -> None:
        """Replace the checkpoint directory with an older backup. The output stays."""
        self.objects = dict(backup)
        self._unsynced.clear()
        self.has_receipts = True
        if self.observer is not None:
            self.observer.on_put_back(backup.keys())

    def _write(self, what: str, path: str, effect: Callable[[], T], undo: Callable[[], None] | None) -> T:
        """Execute a write that syncs its directory. ``undo`` is None if the write changes nothing."""
        if self._simulation.chance(self.faults.syncs_fail):
            effect()
            if undo is not None:
                self._unsynced[path] = undo
            raise UnknownOutcome(f"{what}: the directory is not synced")
        return self._mutate(what, lambda: self._synced(path, effect))

    def _synced(self, path: str, effect: Callable[[], T]) -> T:
        result = effect()
        directory = path.rpartition("/")[0]
        self._unsynced = {
            unsynced: undo for unsynced, undo in self._unsynced.items() if unsynced.rpartition("/")[0] != directory
        }  # fmt: skip
        return result

    def _mutate(self, what: str, effect: Callable[[], T]) -> T:
        if self._simulation.chance(self.faults.fails):
            raise StorageError(f"{what} failed")
        if self._simulation.chance(self.faults.loses_answers):
            if self._simulation.chance(0.6):
                effect()
            raise UnknownOutcome(f"{what}: no answer")
        return effect()


class StoragePort:
    """CheckpointStorage of one process. Calls from the simulation's own thread take no time."""

    url = "sim://"

    def __init__(self, storage: SimStorage, threads: Threads, owner: str) -> None:
        self._threads = threads
        self._storage = storage
        self._owner = owner

    def put(self, path: str, data: Sequence[bytes | memoryview]) -> None:
        self.call(lambda: self._storage.put(path, b"".join(data)))

    def create(self, path: str, data: bytes) -> bool:
        return self.call(lambda: self._storage.create(path, data, self._owner))

    def get(self, path: str) -> memoryview:
        value = self.call(lambda: self._storage.get(path))
        return memoryview(value) if isinstance(value, bytes) else memoryview(b"torn")

    def size(self, path: str) -> int:
        return self.get(path).nbytes

    def get_range(self, path: str, *, offset: int, bytes: int) -> memoryview:
        return self.get(path)[offset : offset + bytes]

    def list(self, prefix: str) -> list[StoredObject]:
        return self.call(lambda: self._storage.list(prefix))

    def delete(self, paths: Sequence[str]) -> None:
        """Delete one by one. Between any two steps, another process can read the storage, and this process can crash."""
        for path in paths:
            self.call(partial(self._storage.delete, path))

    def call(self, call: Callable[[], T]) -> T:
        executor = self._threads.current
        return call() if executor is None else cast(T, executor.call(call))
