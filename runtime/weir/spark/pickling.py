"""Pickling of the job's functions, to send them to the slots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType

from pyspark import cloudpickle

from weir.errors import GraphError

# pyspark's copy of cloudpickle has no type annotations.
_dumps: Callable[[object], bytes] = cloudpickle.dumps
_list_by_value: Callable[[], set[str]] = cloudpickle.list_registry_pickle_by_value
_register_by_value: Callable[[ModuleType], None] = cloudpickle.register_pickle_by_value
_unregister_by_value: Callable[[ModuleType], None] = cloudpickle.unregister_pickle_by_value


def pack_code(code: Mapping[str, object], *, by_value: Iterable[ModuleType] = ()) -> dict[str, bytes]:
    """Return {reference: pickled function}, for ``SlotBootstrap.code``.

    Three kinds of functions are pickled as a whole: functions of ``by_value`` modules (such as the job's file), functions of
    ``__main__``, and nested functions. For any other function, only the names of the function and its module are
    pickled, so the executors must have the module. If an object cannot be pickled, raise GraphError that names the reference
    and the captured object.
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
    except Exception as error:  # Pickling runs ``__reduce__`` of captured objects, which can raise any error.
        culprit = _culprit(item)
        raise GraphError(
            f"{reference}: cannot send {_name(item)} to the slots: {culprit or 'it'} cannot be pickled "
            f"({type(error).__name__}: {error}). Create such an object inside the function or in its open()."
        ) from error


def _name(item: object) -> str:
    return str(getattr(item, "__qualname__", type(item).__qualname__))


def _culprit(item: object) -> str | None:
    """Return the first variable or attribute that cannot be pickled, or None if each of them can be pickled."""
    captured: dict[str, object] = {}
    code = getattr(item, "__code__", None)
    if code is not None:
        names = dict(zip(code.co_freevars, getattr(item, "__closure__", None) or (), strict=False))
        captured |= {f"the captured variable {name!r}": cell.cell_contents for name, cell in names.items() if _filled(cell)}
        global_values = getattr(item, "__globals__", {})
        captured |= {f"the global {name!r}": global_values[name] for name in code.co_names if name in global_values}
    captured |= {f"its attribute {name!r}": value for name, value in getattr(item, "__dict__", {}).items()}
    for label, value in captured.items():
        try:
            _dumps(value)
        except Exception:  # noqa: BLE001  # ``__reduce__`` of an object can raise any error
            return f"{label} ({type(value).__module__}.{type(value).__qualname__})"
    return None


def _filled(cell: object) -> bool:
    try:
        cell.cell_contents  # type: ignore[attr-defined]  # noqa: B018  # an empty cell raises ValueError
    except ValueError:
        return False
    return True
