from __future__ import annotations

import json
from pathlib import Path

import pyarrow.ipc as ipc
import pytest
from weir_command import weir

pytestmark = pytest.mark.spark


def listed(checkpoints: Path) -> list[dict[str, object]]:
    said = weir("checkpoints", checkpoints, "--json")
    assert said.code == 0
    found: list[dict[str, object]] = json.loads(said.out)
    return found


def kept(checkpoints: Path) -> list[int]:
    return [int(str(one["checkpoint"])) for one in listed(checkpoints) if one["status"] == "restorable"]


def test_the_list_shows_a_line_for_each_checkpoint_that_can_be_restored_and_how_many_are_gone(finished: Path) -> None:
    checkpoints = finished / "checkpoints"
    alive, all_of_them = kept(checkpoints), listed(checkpoints)
    assert len(alive) == 4 < len(all_of_them)
    said = weir("checkpoints", checkpoints)
    rows = [line.split() for line in said.out.splitlines() if "restorable" in line]
    assert [int(row[0]) for row in rows] == alive
    assert f"{len(all_of_them) - 4} older ones are retired and gone" in said.out
    assert weir("checkpoints", checkpoints, "--retired").out.count("retired") == len(all_of_them) - 4


def test_one_checkpoint_shows_its_operators_with_rows_and_what_it_took(finished: Path) -> None:
    newest = kept(finished / "checkpoints")[-1]
    said = weir("checkpoints", finished / "checkpoints", "show", str(newest))
    assert said.code == 0
    assert f"checkpoint {newest} of small, generation 1, branch b1" in said.out
    sums = next(line.split() for line in said.out.splitlines() if line.strip().startswith("sums"))
    assert sums[:3] == ["sums", "2", "7"], "operator, subtasks, rows: a row for each key"
    assert "alignment at most" in said.out


def test_a_manifest_is_printed_as_json_and_names_files_that_any_arrow_reader_opens(finished: Path) -> None:
    checkpoints = finished / "checkpoints"
    said = weir("checkpoints", checkpoints, "show", str(kept(checkpoints)[-1]), "--json")
    manifest = json.loads(said.out)
    files = [file for task in manifest["subtasks"] for one in task["operators"] for file in one["files"]]
    rows = [row for file in files for row in ipc.open_file(checkpoints / "small" / file["path"]).read_all().to_pylist()]
    assert sorted(row["key"] for row in rows) == list(range(7))


def test_checkpoints_that_are_whole_are_told_so(finished: Path) -> None:
    said = weir("checkpoints", finished / "checkpoints", "verify")
    assert said.code == 0
    assert said.out.count(": whole, ") == 4


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x40
    path.write_bytes(data)


def test_a_damaged_file_is_found_and_named_with_exit_code_5(finished: Path) -> None:
    victim = sorted((finished / "checkpoints" / "small" / "state" / "packed.slots").glob("*.pack"))[-1]
    damage(victim)
    said = weir("checkpoints", finished / "checkpoints", "verify")
    assert said.code == 5
    assert said.out.count("DAMAGED") == 1
    assert said.out.count(": whole, ") == 3
    problem = next(line for line in said.out.splitlines() if victim.name in line)
    assert problem.strip().startswith(f"small/state/packed.slots/{victim.name} is damaged from byte ")


def test_a_missing_file_and_a_half_written_manifest_are_found(finished: Path) -> None:
    small = finished / "checkpoints" / "small"
    alive = kept(finished / "checkpoints")
    manifest = next((small / "checkpoints" / str(alive[0])).iterdir())
    manifest.write_bytes(manifest.read_bytes()[:100])
    lost = next((small / "state" / "packed.slots").glob(f"g1-c{alive[-1]}-*"))
    lost.unlink()
    said = weir("checkpoints", finished / "checkpoints", "verify", "--json")
    assert said.code == 5
    reports = {one["checkpoint"]: one for one in json.loads(said.out)}
    assert [one for one in alive if reports[one]["intact"]] == alive[1:-1]
    assert "half-written (100 bytes" in reports[alive[0]]["problems"][0]["problem"]
    assert reports[alive[-1]]["problems"] == [{"path": f"small/state/packed.slots/{lost.name}", "problem": "is missing"}]


def test_what_cannot_be_shown_is_refused_with_exit_code_2_and_what_there_is(finished: Path, tmp_path: Path) -> None:
    checkpoints = finished / "checkpoints"
    unknown = weir("checkpoints", checkpoints, "show", "999")
    assert unknown.code == 2 and "999" in unknown.message
    assert "which one?" in weir("checkpoints", checkpoints, "show").message
    assert "none of list, show, verify" in weir("checkpoints", checkpoints, "remove").message
    assert "holds small: choose one with --job" in weir("checkpoints", checkpoints, "--job", "tall").message
    nothing = weir("checkpoints", tmp_path / "nothing")
    assert nothing.code == 2 and "there is no job in" in nothing.message
