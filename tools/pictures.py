"""Write the pictures of README to docs/pictures: a diagram, two screenshots and a plot, each for a light and a dark page.

The command ``make pictures`` reads build/e2e/pictures and build/bench/results.jsonl. To read another build directory, run
``make pictures ARGS='--build OTHER/build'``.

The diagram is tools/architecture.svg. ``make e2e`` takes the screenshots, and ``make bench`` takes the measurements. The packages
matplotlib and Pillow are installed in .cache/pictures, outside .venv.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from bootstrap import SetupFailed, one_at_a_time, run
from package_index import install_environment

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements" / "pictures.lock"
PACKAGES = ROOT / ".cache" / "pictures"
DIAGRAM = Path(__file__).with_name("architecture.svg")
SCREENSHOTS = ("job-overview-backpressure", "plan-rollback")
SCREENSHOT_BYTES_MAX = 150_000
MARGIN_PX = 40
"""The height of the margin that is kept below the last panel of a screenshot."""
COLOURS = (256, 128, 64)
"""Numbers of colours for the palette of a screenshot, tried in order until the file is small enough."""
WORKLOAD = "abs6"
SPREAD_MAX = 2.0
"""For each setting, the highest share divided by the lowest share must not exceed this number. Otherwise, the program writes no
plot.

A share is the rate of a run of Weir divided by the rate of the hand-written program (see ``Bar``). If the shares of a setting vary
more, other programs disturbed the benchmark runs.
"""
BENCHMARK_COMMAND = "make bench ARGS='--only abs6 --parallelism 2'"


class PicturesFailed(Exception):
    """A picture cannot be written. The error message states what is missing or wrong and what to do."""


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours. ``fill`` is the colour inside Weir's boxes in the diagram. ``ceiling`` is the colour of the hand-written program's bar."""

    text: str
    secondary: str
    weir: str
    fill: str
    ceiling: str


THEMES = {
    "light": Theme(text="#1f2328", secondary="#59636e", weir="#1f5aa8", fill="#eaf2fb", ceiling="#8c959f"),
    "dark": Theme(text="#e6edf3", secondary="#9198a1", weir="#6cb0f7", fill="#132337", ceiling="#6e7681"),
}


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of the plot. ``rates`` contains the records per second of each run.

    ``shares`` contains each rate divided by the rate of the hand-written program, which ran shortly before. ``shares`` is empty for the
    bar of the hand-written program.
    """

    label: str
    rates: tuple[float, ...]
    shares: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Benchmark:
    bars: tuple[Bar, ...]
    caption: str


# ---- inputs ------------------------------------------------------------------------------------


def find_screenshots(build: Path) -> list[Path]:
    """Return the paths of the screenshots. Raises PicturesFailed if a screenshot is missing."""
    paths = [build / "e2e" / "pictures" / f"{name}-{theme}.png" for name in SCREENSHOTS for theme in THEMES]
    if absent := [path for path in paths if not path.is_file()]:
        raise PicturesFailed(f"Run `make e2e`: {absent[0].parent} has no {', '.join(path.name for path in absent)}.")
    return paths


def results_file(build: Path) -> Path:
    return build / "bench" / "results.jsonl"


def abs6_lines(file: Path) -> list[dict[str, Any]]:
    """Return the results of the workload abs6 that contain a rate of the hand-written program, oldest first."""
    if not file.is_file():
        return []
    lines: list[dict[str, Any]] = [json.loads(line) for line in file.read_text().splitlines()]
    return [line for line in lines if line["workload"] == WORKLOAD and line["ceiling_records_per_s"] is not None]


def read_benchmark(file: Path) -> Benchmark:
    """Read the results of the newest benchmark run. If this run has results for different numbers of slots, use
    only the results with the smallest number.

    Raises PicturesFailed if the file contains no run, a result is wrong, or the shares vary too much.
    """
    lines = abs6_lines(file)
    if not lines:
        raise PicturesFailed(f"Run `{BENCHMARK_COMMAND}`: {file} has no results of {WORKLOAD}.")
    about = lines[-1]["run"]
    lines = [line for line in lines if line["run"] == about]
    slots = min(line["slots"] for line in lines)
    lines = [line for line in lines if line["slots"] == slots]
    if wrong := [line["wrong"] for line in lines if not line["result_ok"]]:
        raise PicturesFailed(f"A result in {file} is wrong ({wrong[0]}). Fix the cause, then run `{BENCHMARK_COMMAND}`.")
    settings = list(dict.fromkeys(line["setting"] for line in lines))
    by_setting = {setting: [line for line in lines if line["setting"] == setting] for setting in settings}
    ceilings = tuple(line["ceiling_records_per_s"] for line in by_setting[settings[0]])
    bars = [Bar("Hand-written program,\nno fault tolerance", ceilings)]
    for setting, runs in by_setting.items():
        shares = tuple(line["records_per_s"] / line["ceiling_records_per_s"] for line in runs)
        if max(shares) > SPREAD_MAX * min(shares):
            raise PicturesFailed(
                f"Run `{BENCHMARK_COMMAND}` again while nothing else runs: in {file}, the share of the hand-written program "
                f"varies from {100 * min(shares):.0f} % to {100 * max(shares):.0f} %."
            )
        bars.append(Bar(f"Weir,\n{setting}", tuple(line["records_per_s"] for line in runs), shares))
    machine, count = about["machine"], len(ceilings)
    measured = datetime.fromisoformat(about["at"])
    repeated = f"Medians of {count} runs (rates and shares), with the lowest and the highest rate." if count > 1 else "One run."
    return Benchmark(
        bars=tuple(bars),
        caption=(
            f"{WORKLOAD}: six operators, three shuffles, a result for every record; {slots} slots.\n"
            f"{repeated} {measured.day} {measured:%B %Y}, commit {about['commit']}, {machine['processor']}, {machine['cores']} cores"
        ),
    )


# ---- outputs -----------------------------------------------------------------------------------


def diagram(theme: Theme) -> str:
    return Template(DIAGRAM.read_text()).substitute(asdict(theme))


def reduce_screenshot(source: Path, target: Path) -> None:
    """Write a PNG with a palette, and cut off the empty part at the bottom of the page. Raises PicturesFailed if the
    file is too large even with the smallest palette.
    """
    from PIL import Image, ImageChops

    with Image.open(source) as image:
        full = image.convert("RGB")
    background = Image.new("RGB", full.size, full.getpixel((0, full.height - 1)))
    content = ImageChops.difference(full, background).getbbox()
    if content is not None:
        full = full.crop((0, 0, full.width, min(full.height, content[3] + MARGIN_PX)))
    for colours in COLOURS:
        full.quantize(colours, dither=Image.Dither.NONE).save(target, optimize=True)
        if target.stat().st_size <= SCREENSHOT_BYTES_MAX:
            return
    size = target.stat().st_size
    raise PicturesFailed(
        f"{target} has {size:,} bytes, more than {SCREENSHOT_BYTES_MAX:,}. Change the browser test that takes this screenshot, so that "
        "the page shows less, and run make e2e again."
    )


def draw_benchmark(benchmark: Benchmark, theme: Theme, target: Path) -> None:
    """Draw horizontal bars as SVG, with text as paths, so that the plot looks the same with any fonts."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    colours = dict.fromkeys(("text.color", "ytick.color", "axes.labelcolor"), theme.text) | {"xtick.color": theme.secondary}
    with pyplot.rc_context({**colours, "font.size": 9.5, "svg.hashsalt": "weir"}):
        figure, axes = pyplot.subplots(figsize=(8.4, 0.5 * len(benchmark.bars) + 1.1), layout="constrained")
        for place, bar in enumerate(benchmark.bars):
            low, middle, high = (rate / 1e6 for rate in (min(bar.rates), statistics.median(bar.rates), max(bar.rates)))
            spread = [[middle - low], [high - middle]]
            colour = theme.weir if bar.shares else theme.ceiling
            axes.barh(place, middle, height=0.6, color=colour, xerr=spread, ecolor=theme.text, capsize=3)
            share = f" ({100 * statistics.median(bar.shares):.0f} %)" if bar.shares else ""
            axes.annotate(f"{middle:.1f}{share}", (high, place), (9, 0), textcoords="offset points", va="center")
        axes.set_yticks(range(len(benchmark.bars)), [bar.label for bar in benchmark.bars])
        axes.invert_yaxis()
        axes.set_xlim(0, 1.15 * max(max(bar.rates) for bar in benchmark.bars) / 1e6)
        axes.set_xlabel("Million records per second (share of the hand-written program)")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        figure.supxlabel(benchmark.caption, fontsize=8, color=theme.secondary)
        figure.savefig(target, transparent=True, metadata={"Date": None, "Creator": None})
        pyplot.close(figure)


@cache
def install_packages() -> None:
    """Install the locked packages in ``PACKAGES`` if they have changed, and make them importable. Raises SetupFailed."""
    expected = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()
    stamp = PACKAGES / "made-from"
    with one_at_a_time(PACKAGES.with_suffix(".lock")):
        if not stamp.is_file() or stamp.read_text() != expected:
            shutil.rmtree(PACKAGES, ignore_errors=True)
            run(
                "installing matplotlib and Pillow",
                [
                    *(Path(sys.executable).parent / "uv", "pip", "install", "--no-deps", "--require-hashes"),
                    *("--requirement", LOCK, "--target", PACKAGES, "--python", sys.executable),
                ],
                install_environment(os.environ, ROOT),
            )
            stamp.write_text(expected)
    sys.path.append(str(PACKAGES))


def write_diagram(build: Path, output: Path) -> None:
    for name, theme in THEMES.items():
        (output / f"architecture-{name}.svg").write_text(diagram(theme))


def write_screenshots(build: Path, output: Path) -> None:
    paths = find_screenshots(build)
    install_packages()
    for path in paths:
        reduce_screenshot(path, output / path.name)


def write_plot(build: Path, output: Path) -> None:
    benchmark = read_benchmark(results_file(build))
    install_packages()
    for name, theme in THEMES.items():
        draw_benchmark(benchmark, theme, output / f"benchmark-{name}.svg")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make pictures", description="Pass options as ARGS='...'.")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="directory with results of make e2e and make bench")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "pictures", help="directory for the pictures")
    given = parser.parse_args(arguments)
    given.output.mkdir(parents=True, exist_ok=True)
    problems = []
    for write in (write_diagram, write_screenshots, write_plot):
        try:
            write(given.build, given.output)
        except (PicturesFailed, SetupFailed) as failure:
            problems.append(str(failure))
    for path in sorted(given.output.iterdir()):
        print(f"pictures: {path} ({path.stat().st_size:,} bytes)")
    if problems:
        print(f"pictures: some pictures were not written. {' '.join(problems)}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
