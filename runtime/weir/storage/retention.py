"""Which checkpoints to let go of, and which files nobody needs. Pure: facts in, names out."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from weir.errors import ConfigError
from weir.protocol.ids import CheckpointId
from weir.protocol.logview import LogView
from weir.storage.base import StoredObject
from weir.storage.layout import JobLayout, identify


def plan_retention(
    view: LogView, *, keep: int, uncommitted_from: CheckpointId | None = None, keep_abandoned: bool = True
) -> tuple[CheckpointId, ...]:
    """The checkpoints to retire so that the newest ``keep`` of the current branch stay (and all pinned ones).

    The newest one always stays; it is what the running generation restored from until it completes one itself.
    ``uncommitted_from``: the oldest checkpoint whose commit is not known to be done; it and later ones stay, as a
    recovery must commit them again. Abandoned ones stay, so that one can go back to them, unless ``keep_abandoned`` is False.
    """
    if keep < 1:
        raise ConfigError(f"at least one checkpoint must be kept, not {keep}")
    leaving = list(view.current[:-keep])
    if not keep_abandoned:
        leaving += [record.checkpoint for record in view.abandoned]
    pinned = set(view.pinned)
    return tuple(
        sorted(
            checkpoint
            for checkpoint in leaving
            if checkpoint not in pinned and (uncommitted_from is None or checkpoint < uncommitted_from)
        )
    )


def orphan_horizon(view: LogView) -> CheckpointId:
    """Nothing of this checkpoint or a later one is an orphan yet: it may be on its way. Pinned ones do not hold the horizon back."""
    retained = [checkpoint for checkpoint in view.current if checkpoint not in view.pinned] or list(view.current[-1:])
    return retained[0] if retained else CheckpointId(0)


def orphans(
    view: LogView,
    layout: JobLayout,
    objects: Iterable[StoredObject],
    *,
    referenced: Collection[str],
    protected: Collection[str] = (),
) -> tuple[StoredObject, ...]:
    """Those of ``objects`` that no checkpoint can need any more.

    ``referenced``: relative paths of all state files that kept checkpoints name. ``protected``: the same of
    files that pending checkpoints refer to and did not write themselves. An orphan is referenced by none, of a
    generation that the log knows, and either older than the horizon or of a retired checkpoint.
    """
    horizon = orphan_horizon(view)
    retired = {record.checkpoint for record in view.retired}
    manifests = {record.manifest_path for record in view.kept}
    found: list[StoredObject] = []
    for one in objects:
        path = layout.relative(one.path)
        identity = identify(path)
        if identity is None or path in referenced or path in protected or path in manifests:
            continue
        if identity.generation <= view.generation and (identity.checkpoint < horizon or identity.checkpoint in retired):
            found.append(one)
    return tuple(found)
