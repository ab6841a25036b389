"""The code blocks of the guide to the job API."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from weir import Job, Params, agg, sinks, sources
from weir.api.job_loader import load_job
from weir.api.stream import Stream
from weir.graph.compile import compile_graph

DOCS = Path(__file__).parents[3] / "docs"
GUIDE = DOCS / "jobs.md"
FLIGHTS = pa.table(
    {"origin": ["JFK"], "dest": ["SFO"], "dep_delay": [20.0], "distance": [2586.0], "air_time": [345.0]},
)


def test_every_code_block_of_the_guide_builds_a_graph(tmp_path: Path) -> None:
    whole, *snippets = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(snippets) >= 5
    (tmp_path / "flights").mkdir()
    pq.write_table(FLIGHTS, tmp_path / "flights" / "a.parquet")
    (tmp_path / "route_delays.py").write_text(whole)
    values = {"input": str(tmp_path / "flights"), "output": str(tmp_path / "out")}
    graph, _ = load_job(str(tmp_path / "route_delays.py"), values).to_graph()
    assert [one.uid for one in graph.operators] == ["flights", "filter-1", "select-1", "per-route", "out"]

    job = Job("snippets")
    flights = job.read(sources.iterable(FLIGHTS), uid="flights")
    names: dict[str, object] = {"pa": pa, "pl": pl, "agg": agg, "sources": sources, "job": job, "flights": flights}
    names["params"] = Params({"GEO_KEY": "env:GEO_KEY"})
    for snippet in snippets:
        exec(snippet, names)  # noqa: S102  # the guide is trusted
    made = [value for value in names.values() if isinstance(value, Stream) and value is not flights]
    assert len(made) >= 10
    for stream in made:
        stream.write(sinks.console())
    compile_graph(job.to_graph()[0], slots=2)


def test_the_job_of_the_tutorial_about_files_builds_a_graph_although_its_directory_is_empty(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "tutorial-follow.md").read_text(), re.DOTALL)
    (tmp_path / "payments.py").write_text(code)
    job = load_job(str(tmp_path / "payments.py"), {"input": str(tmp_path), "output": str(tmp_path / "out")})
    assert [one.uid for one in job.to_graph()[0].operators] == ["payments", "totals", "out"]
    assert job.sources()["payments"].discover_every_ms == 5_000  # type: ignore[index]  # an id is a str
