"""Creating the pictures of README.md from screenshots and benchmark results."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import pictures

NEWEST = {"at": "2026-11-23T20:15:00+00:00", "commit": "abc1234", "machine": {"processor": "Test CPU", "cores": 2}}
OLDER = {**NEWEST, "at": "2026-11-01T10:00:00+00:00"}


def result(setting: str, records_per_s: float, ceiling: float | None = 40e6, **changes: Any) -> dict[str, Any]:
    line = {"workload": "abs6", "setting": setting, "slots": 2, "records_per_s": records_per_s, "ceiling_records_per_s": ceiling}
    return {**line, "result_ok": True, "wrong": None, "run": NEWEST, **changes}


def write_results(build: Path, *lines: dict[str, Any]) -> Path:
    file = pictures.results_file(build)
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


RESULTS = (
    result("no checkpoints", 1e6, run=OLDER),
    result("no checkpoints", 30e6),
    result("checkpoint every 1 s", 28e6),
    result("no checkpoints", 33e6, ceiling=44e6),
    result("checkpoint every 1 s", 32e6, ceiling=44e6),
    result("no checkpoints", 20e6, slots=4),
    result("no checkpoints", 5e6, ceiling=None, workload="wordcount"),
)


def test_the_plot_compares_the_newest_run_with_the_hand_written_program(tmp_path: Path) -> None:
    benchmark = pictures.read_benchmark(write_results(tmp_path, *RESULTS))
    ceiling, without, with_ = benchmark.bars
    assert ceiling.rates == (40e6, 44e6)
    assert not ceiling.shares
    assert (without.rates, without.shares) == ((30e6, 33e6), (0.75, 0.75))
    assert "checkpoint every 1 s" in with_.label
    assert with_.rates == (28e6, 32e6)


def test_the_caption_names_the_date_and_the_commit_and_the_machine(tmp_path: Path) -> None:
    caption = pictures.read_benchmark(write_results(tmp_path, *RESULTS)).caption
    assert "2 slots.\nMedians of 2 runs (rates and shares)" in caption
    assert "23 November 2026, commit abc1234, Test CPU, 2 cores" in caption


def test_measurements_with_a_wrong_result_are_refused(tmp_path: Path) -> None:
    file = write_results(tmp_path, result("no checkpoints", 30e6, result_ok=False, wrong="3 keys have a wrong count"))
    with pytest.raises(pictures.PicturesFailed, match="3 keys have a wrong count"):
        pictures.read_benchmark(file)


def test_the_error_lists_all_commands_that_must_run_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pictures.main(["--build", str(tmp_path), "--output", str(tmp_path / "out")]) == 1
    message = capsys.readouterr().err
    assert "make e2e" in message
    assert "plan-rollback-dark.png" in message
    assert pictures.BENCHMARK_COMMAND in message


def test_measurements_that_vary_too_much_are_refused(tmp_path: Path) -> None:
    file = write_results(tmp_path, result("no checkpoints", 10e6), result("no checkpoints", 30e6))
    with pytest.raises(pictures.PicturesFailed, match="varies from 25 % to 75 %"):
        pictures.read_benchmark(file)


@pytest.mark.parametrize("theme", pictures.THEMES)
def test_the_committed_diagram_is_up_to_date(theme: str) -> None:
    committed = pictures.ROOT / "docs" / "pictures" / f"architecture-{theme}.svg"
    assert committed.read_text() == pictures.diagram(pictures.THEMES[theme]), "run make pictures"


def test_readme_shows_each_picture_in_both_themes() -> None:
    shown = set(re.findall(r'(?:src|srcset)="([^"]+)"', (pictures.ROOT / "README.md").read_text()))
    folder = pictures.ROOT / "docs" / "pictures"
    assert shown == {str(path.relative_to(pictures.ROOT)) for path in folder.iterdir()}
    assert {path.replace("-dark.", "-light.") for path in shown} == {path for path in shown if "-light." in path}


@pytest.fixture
def packages() -> None:
    """Installs Pillow and matplotlib, like `make pictures`."""
    pictures.install_packages()


@pytest.mark.usefixtures("packages")
def test_a_screenshot_is_stored_as_an_image_with_a_palette(tmp_path: Path) -> None:
    from PIL import Image

    source, target = tmp_path / "source.png", tmp_path / "target.png"
    Image.new("RGB", (8, 4), "#1f5aa8").save(source)
    pictures.reduce_screenshot(source, target)
    with Image.open(target) as image:
        assert (image.mode, image.size) == ("P", (8, 4))
        assert image.convert("RGB").getpixel((0, 0)) == (0x1F, 0x5A, 0xA8)


@pytest.mark.usefixtures("packages")
def test_the_empty_area_at_the_bottom_of_a_screenshot_is_cut_off(tmp_path: Path) -> None:
    from PIL import Image

    image = Image.new("RGB", (8, 200), "white")
    image.paste("black", (2, 2, 6, 50))
    image.save(tmp_path / "source.png")
    pictures.reduce_screenshot(tmp_path / "source.png", tmp_path / "target.png")
    with Image.open(tmp_path / "target.png") as cut:
        assert cut.size == (8, 50 + pictures.MARGIN_PX)


@pytest.mark.usefixtures("packages")
def test_a_screenshot_that_is_too_large_after_compression_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    monkeypatch.setattr(pictures, "SCREENSHOT_BYTES_MAX", 10)
    Image.new("RGB", (8, 4)).save(tmp_path / "source.png")
    with pytest.raises(pictures.PicturesFailed, match="more than 10"):
        pictures.reduce_screenshot(tmp_path / "source.png", tmp_path / "target.png")


@pytest.mark.usefixtures("packages")
def test_all_pictures_are_written_in_both_themes(tmp_path: Path) -> None:
    from PIL import Image

    write_results(tmp_path, *RESULTS)
    screenshots = tmp_path / "e2e" / "pictures"
    screenshots.mkdir(parents=True)
    for page in pictures.SCREENSHOTS:
        for theme in pictures.THEMES:
            Image.new("RGB", (8, 4)).save(screenshots / f"{page}-{theme}.png")
    assert pictures.main(["--build", str(tmp_path), "--output", str(tmp_path / "out")]) == 0
    written = {path.stem for path in (tmp_path / "out").iterdir()}
    assert written == {
        f"{name}-{theme}" for name in ("architecture", *pictures.SCREENSHOTS, "benchmark") for theme in pictures.THEMES
    }


@pytest.mark.usefixtures("packages")
def test_the_same_results_give_the_same_plot(tmp_path: Path) -> None:
    benchmark = pictures.read_benchmark(write_results(tmp_path, *RESULTS))
    plots = []
    for name in ("first", "second"):
        pictures.draw_benchmark(benchmark, pictures.THEMES["dark"], tmp_path / f"{name}.svg")
        plots.append((tmp_path / f"{name}.svg").read_text())
    assert plots[0] == plots[1]
    assert pictures.THEMES["dark"].weir in plots[0]
