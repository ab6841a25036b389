"""Loading a job from its entry point, and the error messages for users."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from weir.api.job_loader import declared_params, load_job
from weir.errors import ConfigError, GraphError, SchemaError

JOB = '''
"""Running delay per route."""
from __future__ import annotations

import functools
from dataclasses import dataclass
import polars as pl

from weir import Job, Params, agg, sinks, sources

@dataclass
class Limits:
    least: int

def job(params: Params) -> Job:
    job = Job("route-delays")
    flights = job.read(sources.parquet(params.path("input", help="a directory of flights")), uid="flights")
    limits = Limits(params.int("least", 15, help="minutes"))
    late = flights.filter(pl.col("dep_delay") > limits.least).map(shorten, schema={"origin": str})
    late.key_by("origin").aggregate(flights=agg.count(), uid="per-origin").write(sinks.console(rows=params.int("rows", 5)), uid="out")
    return job

def shorten(row):
    return {"origin": row["origin"]}

def other(params):
    job = Job("other")
    job.read(sources.iterable([{"a": 1}])).write(sinks.console())
    return job

def nothing(params):
    return None

def wrong_column():
    job = Job("wrong")
    job.read(sources.iterable([{"dep_delay": 1}])).filter(pl.col("dep_dellay") > 1)

def broken(params):
    return {}["x"]

def exits(params):
    import sys

    sys.exit(0)

partial_of_nothing = functools.partial(nothing, 1)
partial_of_broken = functools.partial(broken, 1)
'''


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "flights").mkdir()
    pq.write_table(pa.table({"origin": ["JFK"], "dep_delay": [20]}), tmp_path / "flights" / "a.parquet")
    path = tmp_path / "route_delays.py"
    path.write_text(JOB)
    return path


def test_a_job_can_be_loaded_from_a_file(job_file: Path) -> None:
    job = load_job(str(job_file), {"input": str(job_file.parent / "flights"), "least": "10"})
    graph, _ = job.to_graph()
    assert [one.uid for one in graph.operators] == ["flights", "filter-1", "map-1", "per-origin", "out"]
    assert graph.operators[1].site == "route_delays.py:19"
    assert load_job(f"{job_file}:other").name == "other"


def test_functions_of_a_job_file_are_pickled_by_value(job_file: Path) -> None:
    _, bundle = load_job(str(job_file), {"input": str(job_file.parent / "flights")}).to_graph()
    function = bundle.get("code/map-1")
    assert function.__module__ == "weir_job_route_delays"
    assert function.__module__ not in sys.modules


def test_the_parameters_of_a_job_are_listed_without_reading_its_input(job_file: Path) -> None:
    declared = declared_params(str(job_file))
    assert [(one.name, one.required, one.default) for one in declared.parameters] == [
        ("input", True, None),
        ("least", False, 15),
        ("rows", False, 5),
    ]
    assert declared.help == "Running delay per route."
    assert declared.incomplete is None
    assert "KeyError" in (declared_params(f"{job_file}:broken").incomplete or "")


def test_an_entry_point_can_name_a_module_on_the_python_path(job_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(job_file.parent))
    assert load_job("route_delays:other").name == "other"
    monkeypatch.delitem(sys.modules, "route_delays")


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        ("{dir}/no.py", ConfigError, "Job file .*no.py does not exist"),
        ("no_such_package.jobs:job", ConfigError, "Module 'no_such_package.jobs' does not exist"),
        ("{file}:jbo", ConfigError, "route_delays.py has no function 'jbo'. It has job, shorten, other"),
        ("{file}:nothing", GraphError, r"nothing\(params\) must return a Job, not NoneType. Add `return job`"),
        ("{file}:broken", GraphError, r"broken\(params\) raised KeyError at route_delays.py:39: 'x'"),
        ("{file}:exits", GraphError, r"exits\(params\) raised SystemExit at route_delays.py:44: 0"),
        ("{file}:partial_of_nothing", GraphError, r"partial\(params\) must return a Job, not NoneType. Add `return job`"),
        ("{file}:partial_of_broken", GraphError, r"partial\(params\) raised KeyError at route_delays.py:39: 'x'"),
        ("{file}:wrong_column", SchemaError, "filter at route_delays.py:36: no column 'dep_dellay'; did you mean 'dep_delay'?"),
        ("{file}", ConfigError, r"needs parameter 'input' \(a directory of flights\)"),
    ],
)
def test_the_error_for_a_job_that_cannot_be_loaded_names_the_cause(
    job_file: Path, target: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        load_job(target.format(dir=job_file.parent, file=job_file))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import polars\nx = (1,\n", "bad.py:2: "),
        ("x = 1\ny = x / 0\n", "bad.py:2: importing the file raised ZeroDivisionError"),
        ("import no_such_package\n", "bad.py:1: importing the file raised ModuleNotFoundError"),
        ("import sys\nsys.exit(0)\n", "bad.py:2: importing the file ends the program .* under `if __name__"),
    ],
)
def test_the_error_for_a_job_file_that_cannot_be_imported_names_the_failing_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_job(str(tmp_path / "bad.py"))


def test_an_unknown_parameter_is_refused(job_file: Path) -> None:
    with pytest.raises(ConfigError, match="The job has no parameter 'leats'; did you mean 'least'?"):
        load_job(str(job_file), {"input": str(job_file.parent / "flights"), "leats": "3"})


def test_importing_weir_loads_no_large_libraries() -> None:
    program = textwrap.dedent(
        """
        import sys
        import weir
        heavy = {"pyspark", "polars", "pyarrow", "numba", "numpy", "pydantic"}
        assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
        assert set(weir.__all__) <= set(dir(weir))
        needs_spark = {"run", "JobRun"}  # a program that starts a job has pyspark loaded anyway
        for name in set(weir.__all__) - needs_spark:
            getattr(weir, name)
        assert not {"pyspark", "pydantic", "fastapi", "sqlalchemy", "celery"} & sys.modules.keys()
        try:
            weir.nothing
        except AttributeError as error:
            print(error)
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "module 'weir' has no attribute 'nothing'"), done.stderr
