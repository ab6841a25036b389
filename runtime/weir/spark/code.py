"""Making the job's own functions ready for their journey to the slots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType

from pyspark import cloudpickle

from weir.errors import GraphError

# The types that pyspark's copy of cloudpickle does not declare.
_dumps: Callable[[object], bytes] = cloudpickle.dumps
_list_by_value: Callable[[], set[str]] = cloudpickle.list_registry_pickle_by_value
_register_by_value: Callable[[ModuleType], None] = cloudpickle.register_pickle_by_value
_unregister_by_value: Callable[[ModuleType], None] = cloudpickle.unregister_pickle_by_value


def pack_code(code: Mapping[str, object], *, by_value: Iterable[ModuleType] = ()) -> dict[str, bytes]:
    """Reference -> what ``pickle.loads`` in a slot gives back. For SlotBootstrap.code.

    Functions of ``by_value`` modules (the job's file, say), of ``__main__`` and nested ones travel whole, all others as the name
    of their module, which the executors must have. Raises GraphError naming the reference and what it drags along.
    """
    modules = [module for module in by_value if module.__name__ not in _list_by_value()]
    for module in modules:
        _register_by_value(module)
    try:
        return {reference: _pack(reference, item) for reference, item in code.items()}
    finally:
        for module in modules:
            _unregister_by_value(module)


def _pack(reference: str, item: object) -> bytes:
    try:
        return _dumps(item)
    except Exception as error:  # Pickling runs the __reduce__ of any object that the function holds on to.
        culprit = _culprit(item)
        raise GraphError(
            f"{reference}: {_name(item)} cannot be shipped to the slots: {culprit or 'it'} cannot be pickled "
            f"({type(error).__name__}: {error}). Create such an object inside the function or in its open(), "
            "not outside where the function captures it"
        ) from error


def _name(item: object) -> str:
    return str(getattr(item, "__qualname__", type(item).__qualname__))


def _culprit(item: object) -> str | None:
    """The variable or attribute that cannot be pickled by itself, if it is that simple."""
    held: dict[str, object] = {}
    code = getattr(item, "__code__", None)
    if code is not None:
        names = dict(zip(code.co_freevars, getattr(item, "__closure__", None) or (), strict=False))
        held |= {f"the captured variable {name!r}": cell.cell_contents for name, cell in names.items() if _filled(cell)}
        found = getattr(item, "__globals__", {})
        held |= {f"the global {name!r}": found[name] for name in code.co_names if name in found}
    held |= {f"its attribute {name!r}": value for name, value in getattr(item, "__dict__", {}).items()}
    for label, value in held.items():
        try:
            _dumps(value)
        except Exception:  # noqa: BLE001  # as above
            return f"{label} ({type(value).__module__}.{type(value).__qualname__})"
    return None


def _filled(cell: object) -> bool:
    try:
        cell.cell_contents  # type: ignore[attr-defined]  # noqa: B018  # reading is the test
    except ValueError:
        return False
    return True
