"""Finds and runs the entry point of a job, for example ``flights.py``, ``flights.py:other`` or ``package.module:function``."""

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

from weir.api.job import Job, collecting_params
from weir.api.params import Parameter, Params
from weir.errors import ConfigError, GraphError, WeirError
from weir.operators.user_code import function_name
from weir.secrets import building_job

DEFAULT_FUNCTION = "job"
_EXITS = "importing the file ends the program (sys.exit). Put code that runs as a script under `if __name__ == '__main__':`."


@dataclass(frozen=True, slots=True)
class DeclaredParams:
    """The parameters of a job. ``incomplete`` is the message of the error that stopped the collection of the parameters, or
    None if the collection is complete."""

    parameters: tuple[Parameter, ...]
    help: str
    incomplete: str | None


def load_job(target: str, params: Params | Mapping[str, object] | None = None) -> Job:
    """Build the job. Raises ConfigError for an unknown file, function or parameter, or a missing parameter. Raises GraphError if
    the job function raises an error or returns no Job."""
    return build_job(_entry_point(target), params, target=target)


def build_job(
    function: Callable[..., object], params: Params | Mapping[str, object] | None = None, *, target: str | None = None
) -> Job:
    """Build the job of a job function. ``target`` names the function in error messages. Raises the errors of ``load_job``."""
    target = target or getattr(function, "__module__", None) or "job"
    values = params if isinstance(params, Params) else Params(params)
    job = _call(target, function, values)
    if not isinstance(job, Job):
        raise GraphError(
            f"{target}: {function_name(function)}(params) must return a Job, not {type(job).__name__}. Add `return job`."
        )
    values.check_known()
    return job


def declared_params(target: str) -> DeclaredParams:
    """Run the job function without reading input, and return the parameters that the function declares.

    While the job function runs, ``Job.read`` returns a stub instead of a stream. A required parameter has a placeholder value:
    its first choice, or the zero value of its type.
    """
    function = _entry_point(target)
    params = Params(placeholders=True)
    token = collecting_params.set(True)
    incomplete = None
    try:
        _call(target, function, params)
    except WeirError as error:
        incomplete = str(error)
    finally:
        collecting_params.reset(token)
    return DeclaredParams(params.declared, _help(function), incomplete)


def _help(function: Callable[..., Any]) -> str:
    """Return the docstring of the job function. If the function has no docstring, return the docstring of its file."""
    return inspect.getdoc(function) or inspect.cleandoc(getattr(function, "__globals__", {}).get("__doc__") or "")


def _call(target: str, function: Callable[..., Any], params: Params) -> object:
    try:
        with building_job():
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
    location, colon, name = target.rpartition(":")
    if not colon or not name.isidentifier():
        location, name = target, DEFAULT_FUNCTION
    module = _load_file(Path(location)) if _is_file(location) else _load_module(location)
    function = getattr(module, name, None)
    if not callable(function):
        others = [
            other for other, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == module.__name__
        ]
        advice = (
            f"It has {', '.join(others)}. Name one as {location}:{others[0]}."
            if others
            else f"Define `def {name}(params)`, which returns a Job."
        )
        raise ConfigError(f"{location} has no function {name!r}. {advice}")
    result: Callable[..., Any] = function
    return result


def _is_file(location: str) -> bool:
    return location.endswith(".py") or "/" in location


def _load_file(path: Path) -> ModuleType:
    """Load the file as a module. Adds the directory of the file to ``sys.path``, as ``python file.py`` does.

    The module is removed from ``sys.modules`` after loading, so that cloudpickle ships the functions of the module by value.
    Executors do not have the file, so they cannot import the functions.
    """
    if not path.is_file():
        raise ConfigError(f"Job file {path} does not exist. Specify a Python file, or a module as package.module:function.")
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
        raise ConfigError(f"{_line_in(path, error)}: importing the file raised {type(error).__name__}: {error}") from error
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
                f"Module {name!r} does not exist. Specify a Python file, or a module as package.module:function."
            ) from error
        raise ConfigError(f"importing {name} raised {type(error).__name__}: {error}") from error
    except WeirError:
        raise
    except SystemExit as error:
        raise ConfigError(f"{name}: {_EXITS}") from error
    except Exception as error:
        raise ConfigError(f"importing {name} raised {type(error).__name__}: {error}") from error


def _line_in(path: Path, error: BaseException) -> str:
    """Return the innermost line of the file ``path`` in the error's traceback, for example ``flights.py:3``."""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
    return f"{path.name}:{lines[-1].lineno}" if lines else path.name
