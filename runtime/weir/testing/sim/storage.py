"""Simulated storage: objects, the job's log among them, and the place of the sinks. It fails, tears and lies about outcomes.

``SimStorage`` is the storage itself: every call is one atomic effect. ``StoragePort`` is how a process
sees it: on a thread of a process each call takes time, and the process may pause or die meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar, cast

from weir.errors import NotFound, StorageError, Superseded, UnknownOutcome
from weir.protocol.ids import Generation
from weir.protocol.snapshots import Committable
from weir.storage.base import StoredObject
from weir.testing.sim.lanes import Workers
from weir.testing.sim.records import Row
from weir.testing.sim.world import World

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StorageFaults:
    """Probabilities per call, until the faults cease."""

    fails: float = 0.0
    """Nothing happened, and that is known."""
    tears: float = 0.0
    """Half of the object is there under its name; the write failed."""
    lies: float = 0.0
    """The answer is lost: it happened, or it did not."""
    reads_fail: float = 0.0


NO_FAULTS = StorageFaults()


class Torn:
    """What is left of an object whose write was interrupted."""


@dataclass(frozen=True, slots=True)
class Staged:
    """``uncertain``: the writer was never told that it is there."""

    committable: Committable
    rows: tuple[Row, ...]
    staged_ns: int
    uncertain: bool


class Watcher(Protocol):
    """Sees every effect at the moment of it."""

    def on_created(self, path: str, data: bytes, creator: str) -> None: ...
    def on_deleted(self, path: str) -> None: ...
    def on_published(self, staged: Staged) -> None: ...


class SimStorage:
    def __init__(self, world: World, faults: StorageFaults) -> None:
        self._world = world
        self._names = 0
        self.faults = faults
        self.watcher: Watcher | None = None
        self.objects: dict[str, object] = {}
        self.staged: dict[str, Staged] = {}
        self.published: dict[str, Staged] = {}
        self.abandoned: dict[str, tuple[str, Staged]] = {}
        """By path: the branch it was taken back from."""
        self.decides = Generation(0)
        """The newest generation that took back or gave back: older ones can do so no more, wherever they were paused."""
        self.staged_ever: dict[str, Staged] = {}

    # ---- checkpoint storage --------------------------------------------------------------------

    def create(self, path: str, data: bytes, creator: str) -> bool:
        """Only if absent."""
        self._world.step("create", f"{path} by {creator}")
        return self._mutate(f"create {path}", lambda: self._create(path, data, creator))

    def _create(self, path: str, data: bytes, creator: str) -> bool:
        if path in self.objects:
            return False
        self.objects[path] = data
        if self.watcher is not None:
            self.watcher.on_created(path, data, creator)
        return True

    def put(self, path: str, value: object) -> None:
        """Names of what is put are unique per attempt, so a torn one is never taken for a whole."""
        self._world.step("put", path)
        if self._world.chance(self.faults.tears):
            self.objects[path] = Torn()
            raise StorageError(f"writing {path} was interrupted")
        self._mutate(f"put {path}", lambda: self.objects.__setitem__(path, value))

    def get(self, path: str) -> object:
        if self._world.chance(self.faults.reads_fail):
            raise StorageError(f"reading {path} failed")
        if path not in self.objects:
            raise NotFound(f"there is no {path}")
        return self.objects[path]

    def list(self, prefix: str) -> list[StoredObject]:
        if self._world.chance(self.faults.reads_fail):
            raise StorageError(f"listing {prefix} failed")
        return [StoredObject(path, 1, 0) for path in sorted(self.objects) if path.startswith(prefix)]

    def delete(self, path: str) -> None:
        self._world.step("delete", path)
        self._mutate(f"delete {path}", lambda: self._delete(path))

    def _delete(self, path: str) -> None:
        if self.objects.pop(path, None) is not None and self.watcher is not None:
            self.watcher.on_deleted(path)

    def unique_name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}-{self._names}"

    # ---- what the sinks write to -----------------------------------------------------------------

    def stage(self, path: str, committable: Committable, rows: tuple[Row, ...]) -> None:
        """Durable when it returns; readers do not see it."""
        self._world.step("stage", path)
        if self._world.chance(self.faults.fails):
            raise StorageError(f"staging {path} failed")
        lied = self._world.chance(self.faults.lies)
        if not lied or self._world.chance(0.6):
            staged = Staged(committable, rows, self._world.now_ns, lied)
            self.staged[path] = self.staged_ever[path] = staged
        if lied:
            raise UnknownOutcome(f"staging {path}: no answer")

    def publish(self, path: str, generation: Generation) -> bool:
        """Atomic, idempotent. What was taken back stays so, unless a newer generation than the one that did commits it.
        False: it is neither staged nor published nor taken back."""
        self._world.step("publish", path)
        return self._mutate(f"publish {path}", lambda: self._publish(path, generation))

    def _publish(self, path: str, generation: Generation) -> bool:
        if path in self.abandoned and self.decides <= generation:
            self.published[path] = self.abandoned.pop(path)[1]
        if path in self.staged:
            staged = self.published[path] = self.staged.pop(path)
            if self.watcher is not None:
                self.watcher.on_published(staged)
        return path in self.published or path in self.abandoned

    def discard_staged(self, doomed: Callable[[Committable], bool]) -> None:
        self._world.step("discard")
        for path in [path for path, staged in self.staged.items() if doomed(staged.committable)]:
            del self.staged[path]

    def take_over(self, generation: Generation) -> None:
        """Raises Superseded if a newer generation has."""
        self._world.step("take over", f"generation {generation}")
        if self.decides > generation:
            raise Superseded(f"generation {self.decides} decides what is visible now")
        self.decides = generation

    def abandon(self, path: str, branch: str, generation: Generation) -> None:
        """Readers no longer see it."""
        self._world.step("abandon", path)
        if not self._is_current(generation):
            raise Superseded(f"generation {self.decides} decides what is visible now")
        staged = self.published.pop(path, None) or self.staged.pop(path, None)
        if staged is not None:
            self.abandoned[path] = (branch, staged)

    def reinstate(self, path: str, generation: Generation) -> None:
        self._world.step("reinstate", path)
        if not self._is_current(generation):
            raise Superseded(f"generation {self.decides} decides what is visible now")
        if path in self.abandoned:
            self.published[path] = self.abandoned.pop(path)[1]

    def _is_current(self, generation: Generation) -> bool:
        return generation == self.decides

    # ---- luck ------------------------------------------------------------------------------------

    def _mutate(self, what: str, effect: Callable[[], T]) -> T:
        if self._world.chance(self.faults.fails):
            raise StorageError(f"{what} failed")
        if self._world.chance(self.faults.lies):
            if self._world.chance(0.6):
                effect()
            raise UnknownOutcome(f"{what}: no answer")
        return effect()


class StoragePort:
    """CheckpointStorage for a process. On a thread of the simulation itself calls take no time."""

    url = "sim://"

    def __init__(self, storage: SimStorage, workers: Workers, owner: str) -> None:
        self._workers = workers
        self._storage = storage
        self._owner = owner

    def put(self, path: str, data: Sequence[bytes | memoryview]) -> None:
        self.ask(lambda: self._storage.put(path, b"".join(data)))

    def create(self, path: str, data: bytes) -> bool:
        return self.ask(lambda: self._storage.create(path, data, self._owner))

    def get(self, path: str) -> memoryview:
        value = self.ask(lambda: self._storage.get(path))
        return memoryview(value) if isinstance(value, bytes) else memoryview(b"torn")

    def list(self, prefix: str) -> list[StoredObject]:
        return self.ask(lambda: self._storage.list(prefix))

    def delete(self, paths: Sequence[str]) -> None:
        """One by one: another process may look, and this one may end, between any two."""
        for path in paths:
            self.ask(partial(self._storage.delete, path))

    def ask(self, call: Callable[[], T]) -> T:
        lane = self._workers.current
        return call() if lane is None else cast(T, lane.call(call))
