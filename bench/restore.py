"""``make bench-restore``: measures how fast a slot restores keyed state.

``make bench-restore ARGS='--gigabytes 8'`` restores 8 GB of state files. Each measurement compares the restore with a reader that
only verifies the checksums of the same files. The restore and the reader run in separate processes. Before each process starts,
the benchmark drops the files from the page cache. The benchmark appends one JSON object per measurement to
build/bench/restore.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import xxhash

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.snapshots import OperatorSnapshot, StateFile
from weir.state.backend import AggregateFunction, AggregateSpec, Emit
from weir.state.columnar_backend import ColumnarAggregates
from weir.state.hashing import hash_columns, key_groups_of
from weir.storage.base import checksum_text
from weir.storage.layout import JobLayout, state_path
from weir.storage.local import LocalStorage
from weir.storage.state_files import PART_BYTES_MAX, RestoreProgress, StateReader

UID, LAYOUT, CHECKPOINT = OperatorUid("per-key"), JobLayout("restore"), CheckpointId(1)
MAX_PARALLELISM = 128
BATCH_ROWS = 1 << 18
SPECS = tuple(AggregateSpec(accumulator, accumulator, "value") for accumulator in AggregateFunction)
RESULTS = Path("build/bench/restore.jsonl")


@dataclass(frozen=True, slots=True)
class RestoreMeasurement:
    """``ratio``: the throughput of the restore, divided by the throughput of the reader. ``state_bytes``: the size of the
    restored state in memory. ``peak_rss_bytes``: the peak memory of the process, minus its memory before the restore.
    ``rss_ratio``: ``peak_rss_bytes`` divided by ``state_bytes``. ``rss_to_files``: ``peak_rss_bytes`` divided by
    ``file_bytes``."""

    key: str
    file_bytes: int
    rows: int
    reader_mb_per_s: float
    restore_mb_per_s: float
    ratio: float
    state_bytes: int
    peak_rss_bytes: int
    rss_ratio: float
    rss_to_files: float


def table(key: str) -> ColumnarAggregates:
    schema = pa.schema({"key": pa.int64() if key == "int" else pa.string(), "value": pa.int64()})
    return ColumnarAggregates(
        ("key",), SPECS, schema, Emit.BATCH, uid=UID, subtask=0, key_groups=(0, MAX_PARALLELISM - 1),
        max_parallelism=MAX_PARALLELISM,
    )  # fmt: skip


def write_files(directory: Path, key: str, file_bytes: int, files: int) -> list[StateFile]:
    """Write ``files`` state files of about ``file_bytes / files`` bytes each. All keys are distinct."""
    written, first = [], 0
    for number in range(files):
        path = state_path(UID, generation=Generation(1), checkpoint=CHECKPOINT, subtask=number, attempt="bench")
        target = directory / LAYOUT.absolute(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "wb") as raw:
            sink = _HashingSink(raw)
            start = first
            schema = table(key)._table.schema()
            with pa.ipc.new_file(pa.PythonFile(sink, "w"), schema) as file:
                while sink.bytes < file_bytes // files:
                    file.write_batch(_batch(key, first, schema))
                    first += BATCH_ROWS
            os.fsync(raw.fileno())
        written.append(StateFile(path, sink.bytes, checksum_text(sink.digest), first - start, (0, MAX_PARALLELISM - 1)))
    return written


class _HashingSink:
    closed = False

    def __init__(self, raw: object) -> None:
        self.raw: object = raw
        self.bytes = 0
        self.digest = xxhash.xxh3_128()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        self.bytes += len(data)
        return self.raw.write(data)  # type: ignore[attr-defined,no-any-return]  # raw is a file

    def flush(self) -> None: ...

    def close(self) -> None: ...


def _batch(key: str, first: int, schema: pa.Schema) -> pa.RecordBatch:
    numbers = np.arange(first, first + BATCH_ROWS, dtype=np.int64)
    # Multiplication by an odd factor is a bijection of the 64-bit integers, so the keys are distinct. Their order is
    # pseudorandom.
    words = numbers * np.int64(0x5851F42D4C957F2D)
    keys = pa.array(words) if key == "int" else pa.array(words).cast(pa.string())
    groups = key_groups_of(hash_columns([keys]), MAX_PARALLELISM)
    columns = [keys, pa.array(groups)]
    columns += [pa.array(numbers if field.type == pa.int64() else numbers.astype(np.float64)) for field in list(schema)[2:]]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def drop_from_cache(directory: Path, files: list[StateFile]) -> None:
    for file in files:
        descriptor = os.open(directory / LAYOUT.absolute(file.path), os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def read_only(directory: Path, files: list[StateFile]) -> dict[str, float]:
    began = time.monotonic()
    buffer = bytearray(PART_BYTES_MAX)
    for file in files:
        digest = xxhash.xxh3_128()
        with open(directory / LAYOUT.absolute(file.path), "rb", buffering=0) as raw:
            while count := raw.readinto(buffer):
                digest.update(memoryview(buffer)[:count])
        assert checksum_text(digest) == file.checksum
    return {"seconds": time.monotonic() - began}


def restore(directory: Path, files: list[StateFile], key: str) -> dict[str, float]:
    from weir.operators.kernel_warmup import warm_up_kernels

    warm_up_kernels()
    state = table(key)
    before = _rss()
    began = time.monotonic()
    progress = RestoreProgress(sum(file.bytes for file in files))
    with StateReader(LocalStorage(directory), LAYOUT, CHECKPOINT, files, progress) as reader:
        state.restore([OperatorSnapshot(UID, 0, tuple(files))], reader)
    seconds = time.monotonic() - began
    assert state.num_keys == sum(file.rows for file in files)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": seconds, "state_bytes": state.nbytes, "peak_rss_bytes": peak - before}


def _rss() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure(directory: Path, files: list[StateFile], key: str) -> RestoreMeasurement:
    total = sum(file.bytes for file in files)
    reader, restored = (_in_process(part, directory, files, key) for part in ("read", "restore"))
    rates = [total / one["seconds"] / 1e6 for one in (reader, restored)]
    peak, state = int(restored["peak_rss_bytes"]), int(restored["state_bytes"])
    return RestoreMeasurement(
        key,
        total,
        sum(file.rows for file in files),
        rates[0],
        rates[1],
        rates[1] / rates[0],
        state,
        peak,
        peak / state,
        peak / total,
    )


def _in_process(part: str, directory: Path, files: list[StateFile], key: str) -> dict[str, float]:
    drop_from_cache(directory, files)
    command = [sys.executable, __file__, "--part", part, "--directory", str(directory), "--key", key]
    done = subprocess.run(command, input=codec.dumps(files), stdout=subprocess.PIPE, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _measurements(options: argparse.Namespace) -> Iterator[RestoreMeasurement]:
    for key in options.keys:
        with tempfile.TemporaryDirectory(dir=options.directory) as directory:
            files = write_files(Path(directory), key, int(options.gigabytes * 1e9), options.files)
            for _ in range(options.repeat):
                yield measure(Path(directory), files, key)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-restore", description="Measure the restore of keyed state in one slot.")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="total size of the state files, in 10^9 bytes (default 1)")
    parser.add_argument("--files", type=int, default=1, help="number of state files (default 1)")
    parser.add_argument("--keys", nargs="+", choices=("int", "string"), default=("int", "string"), help="types of the key column")
    parser.add_argument("--repeat", type=int, default=1, help="number of measurements of the same files (default 1)")
    parser.add_argument("--directory", default=None, help="directory for the state files (default: the temporary directory)")
    parser.add_argument("--part", choices=("read", "restore"), help=argparse.SUPPRESS)
    parser.add_argument("--key", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part is not None:
        files = [codec.from_json(StateFile, one) for one in json.loads(sys.stdin.buffer.read())]
        directory = Path(options.directory)
        print(json.dumps(read_only(directory, files) if options.part == "read" else restore(directory, files, options.key)))
        return 0
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    for one in _measurements(options):
        print(
            f"{one.key:6} {one.file_bytes / 1e9:.2f} GB, {one.rows / 1e6:.1f} M rows: restore {one.restore_mb_per_s:.0f} MB/s, "
            f"checksumming reader {one.reader_mb_per_s:.0f} MB/s, ratio {one.ratio:.2f}; peak memory {one.peak_rss_bytes / 1e9:.2f} GB "
            f"= {one.rss_ratio:.2f} x state in memory ({one.state_bytes / 1e9:.2f} GB) = {one.rss_to_files:.2f} x state files",
            flush=True,
        )
        with RESULTS.open("a") as results:
            results.write(json.dumps(asdict(one)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
