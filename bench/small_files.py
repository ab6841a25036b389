"""``make bench-small-files``: measures the total time of ``weir run`` for a job that reads many small files.

``make bench-small-files`` measures each kind of file with 100,000 files of two rows and with parallelism 2.
``make bench-small-files ARGS='--only text --files 5000'`` measures 5,000 text files.

The job takes a checkpoint every second. The first run of the benchmark writes the files to build/bench/small-files, and later
runs read the same files. The benchmark prints one line for each kind of file. The exit code is 1 if an output is wrong.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.process_control import cpu_seconds  # noqa: E402  # the line above sets sys.path
from weir import Job, Params, sinks, sources  # noqa: E402  # the line above sets sys.path
from weir.connectors.base import Source  # noqa: E402  # the line above sets sys.path

POLL_S = 1.0
SCHEMA = pa.schema([("key", pa.int64()), ("value", pa.int64())])
KINDS: dict[str, Callable[[Path, list[dict[str, int]]], object]] = {
    "text": lambda path, rows: path.write_text("".join(f"{row['value']}\n" for row in rows)),
    "json_lines": lambda path, rows: path.write_text("".join(f"{json.dumps(row)}\n" for row in rows)),
    "parquet": lambda path, rows: pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path),
}


def job(params: Params) -> Job:
    """Copy the input rows to the output."""
    job = Job("small-files")
    kind, path = params.str("kind"), params.path("input")
    kinds: dict[str, Callable[[str], Source]] = {
        "text": sources.text, "json_lines": sources.json_lines, "parquet": sources.parquet
    }  # fmt: skip
    source = kinds[kind](path)
    job.read(source, uid="files").write(sinks.parquet(params.path("output")), uid="copy")
    return job


def write_files(directory: Path, kind: str, files: int) -> Path:
    """Write ``files`` files of two rows each, unless the files already exist. The values of the rows are 0, 1, 2, ..."""
    folder = directory / f"{kind}-{files}"
    if not (folder / "_complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(files):
            rows = [{"key": value % 7, "value": value} for value in (2 * number, 2 * number + 1)]
            KINDS[kind](folder / f"{number:06}", rows)
        (folder / "_complete").touch()
    return folder


def measure(kind: str, folder: Path, arguments: argparse.Namespace) -> bool:
    """Run the job, print its time, and return whether its output is correct."""
    work = arguments.directory / "run"
    shutil.rmtree(work, ignore_errors=True)
    settings = (f"kind={kind}", f"input={folder}", f"output={work / 'output'}")
    command = [
        sys.executable, "-m", "weir.cli", "run", f"{__file__}:job", *(part for one in settings for part in ("--set", one)),
        "--checkpoint-dir", str(work / "checkpoints"), "--interval", arguments.interval,
        "--parallelism", str(arguments.parallelism),
    ]  # fmt: skip
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    slots = driver = 0.0
    while process.poll() is None:
        used = cpu_seconds()
        slots, driver = max(slots, used.slots), max(driver, used.driver)
        time.sleep(POLL_S)
    seconds = time.monotonic() - began
    output = pq.read_table(work / "output", partitioning=None) if process.returncode == 0 else pa.table({})
    column = "line" if kind == "text" else "value"
    correct = column in output.column_names and sorted(map(int, output[column].to_pylist())) == list(range(2 * arguments.files))
    manifests = sorted((path.stat().st_size for path in work.glob("checkpoints/*/checkpoints/*/manifest-*.json")), reverse=True)
    largest = f"{manifests[0] / 1000:.0f} kB" if manifests else "none"
    checked = "correct" if correct else "WRONG"
    print(
        f"{kind}: {arguments.files:,} files, {2 * arguments.files:,} rows in {seconds:.1f} s (weir run, parallelism "
        f"{arguments.parallelism}, interval {arguments.interval}); CPU seconds: slots {slots:.1f}, driver and Spark {driver:.1f}; "
        f"largest manifest {largest}; output {checked}",
        flush=True,
    )
    return correct


def main(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make bench-small-files", description="Pass options as ARGS='...'.")
    parser.add_argument("--only", choices=tuple(KINDS), help="read only this kind of file (default: all kinds)")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--interval", default="1s", help="checkpoint interval")
    parser.add_argument("--directory", type=Path, default=ROOT / "build" / "bench" / "small-files")
    arguments = parser.parse_args(given)
    kinds = [arguments.only] if arguments.only else list(KINDS)
    correct = [measure(kind, write_files(arguments.directory, kind, arguments.files), arguments) for kind in kinds]
    return 0 if all(correct) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
