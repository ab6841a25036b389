"""Finding a job's entry point and running it: ``flights.py``, ``flights.py:other`` or ``package.module:function``."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from weir.api.job import Job, only_declaring
from weir.api.params import Parameter, Params
from weir.errors import ConfigError, GraphError, WeirError
from weir.operators.user_code import function_name

DEFAULT_FUNCTION = "job"
_EXITS = "importing it ends the program (sys.exit): put what runs by itself under `if __name__ == '__main__':`"


@dataclass(frozen=True, slots=True)
class Declarations:
    """``incomplete`` says why not all parameters could be collected; None: they are all there."""

    parameters: tuple[Parameter, ...]
    help: str
    incomplete: str | None


def load_job(target: str, params: Params | Mapping[str, object] | None = None) -> Job:
    """Raises ConfigError (no such file or function, unknown or missing parameter), GraphError (what the function raised)."""
    function = _entry_point(target)
    given = params if isinstance(params, Params) else Params(params)
    job = _call(target, function, given)
    if not isinstance(job, Job):
        raise GraphError(f"{target}: {function_name(function)}(params) returned {type(job).__name__}: end it with `return job`")
    given.check_known()
    return job


def declared_params(target: str) -> Declarations:
    """Runs the function without input: streams stand in for themselves, missing parameters for their type's zero."""
    function = _entry_point(target)
    params = Params(placeholders=True)
    token = only_declaring.set(True)
    incomplete = None
    try:
        _call(target, function, params)
    except WeirError as error:
        incomplete = str(error)
    finally:
        only_declaring.reset(token)
    return Declarations(params.declared, _help(function), incomplete)


def _help(function: Callable[..., Any]) -> str:
    """The function's docstring, or that of its file."""
    return inspect.getdoc(function) or inspect.cleandoc(getattr(function, "__globals__", {}).get("__doc__") or "")


def _call(target: str, function: Callable[..., Any], params: Params) -> object:
    try:
        return function(params) if inspect.signature(function).parameters else function()
    except WeirError:
        raise
    except (Exception, SystemExit) as error:
        code = getattr(function, "__code__", None)
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if code is not None and frame.filename == code.co_filename] or frames[-1:]
        at = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
        raise GraphError(f"{target}: {function_name(function)}(params) raised {type(error).__name__} at {at}: {error}") from error


def _entry_point(target: str) -> Callable[..., Any]:
    place, colon, name = target.rpartition(":")
    if not colon or not name.isidentifier():
        place, name = target, DEFAULT_FUNCTION
    module = _load_file(Path(place)) if _is_file(place) else _load_module(place)
    function = getattr(module, name, None)
    if not callable(function):
        others = [
            other for other, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == module.__name__
        ]
        hint = f"; it has {', '.join(others)}: name one as {place}:{others[0]}" if others else ""
        raise ConfigError(f"{place} has no function {name!r} that makes a job{hint}")
    result: Callable[..., Any] = function
    return result


def _is_file(place: str) -> bool:
    return place.endswith(".py") or "/" in place


def _load_file(path: Path) -> ModuleType:
    """The file as a module that nobody else can import, with its directory importable as for ``python file.py``.

    It is taken out of ``sys.modules`` at once, so that cloudpickle ships its functions by value: on an
    executor there is no such file to import them from.
    """
    if not path.is_file():
        raise ConfigError(f"there is no job file {path}: name a Python file, or a module as package.module:function")
    directory = str(path.resolve().parent)
    if directory not in sys.path:
        sys.path.insert(0, directory)
    name = f"weir_job_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except WeirError:
        raise
    except SyntaxError as error:
        raise ConfigError(f"{Path(error.filename or path).name}:{error.lineno}: {error.msg}") from error
    except SystemExit as error:
        raise ConfigError(f"{_line_in(path, error)}: {_EXITS}") from error
    except Exception as error:
        raise ConfigError(f"{_line_in(path, error)}: importing it raised {type(error).__name__}: {error}") from error
    finally:
        del sys.modules[name]
    return module


def _load_module(name: str) -> ModuleType:
    if sys.path[:1] != [""] and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise ConfigError(
                f"there is no module {name!r}: name a Python file, or a module as package.module:function"
            ) from error
        raise ConfigError(f"importing {name} raised {type(error).__name__}: {error}") from error
    except WeirError:
        raise
    except SystemExit as error:
        raise ConfigError(f"{name}: {_EXITS}") from error
    except Exception as error:
        raise ConfigError(f"importing {name} raised {type(error).__name__}: {error}") from error


def _line_in(path: Path, error: BaseException) -> str:
    """``flights.py:3``: the innermost line of the file itself."""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
    return f"{path.name}:{lines[-1].lineno}" if lines else path.name
