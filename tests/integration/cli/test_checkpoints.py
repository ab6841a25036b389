from __future__ import annotations

import json
from pathlib import Path

import pyarrow.ipc as ipc
import pytest
from weir_command import weir

pytestmark = pytest.mark.spark


def listed(checkpoints: Path) -> list[dict[str, object]]:
    result = weir("checkpoints", checkpoints, "--json")
    assert result.code == 0
    found: list[dict[str, object]] = json.loads(result.out)
    return found


def restorable_ids(checkpoints: Path) -> list[int]:
    return [int(str(one["checkpoint"])) for one in listed(checkpoints) if one["status"] == "restorable"]


def test_the_list_shows_restorable_checkpoints_and_counts_retired_checkpoints(finished: Path) -> None:
    checkpoints = finished / "checkpoints"
    restorable, all_checkpoints = restorable_ids(checkpoints), listed(checkpoints)
    assert len(restorable) == 4 < len(all_checkpoints)
    result = weir("checkpoints", checkpoints)
    rows = [line.split() for line in result.out.splitlines() if "restorable" in line]
    assert [int(row[0]) for row in rows] == restorable
    assert f"{len(all_checkpoints) - 4} retired checkpoints are not shown" in result.out
    assert weir("checkpoints", checkpoints, "--retired").out.count("retired") == len(all_checkpoints) - 4


def test_a_checkpoint_is_shown_with_its_operators_and_durations(finished: Path) -> None:
    newest = restorable_ids(finished / "checkpoints")[-1]
    result = weir("checkpoints", finished / "checkpoints", "show", str(newest))
    assert result.code == 0
    assert f"Checkpoint {newest} of small, generation 1, branch b1" in result.out
    sums = next(line.split() for line in result.out.splitlines() if line.strip().startswith("sums"))
    assert sums[:3] == ["sums", "2", "7"], "the columns are operator, subtasks and rows; there is one row for each key"
    assert "max alignment" in result.out


def test_arrow_reads_the_files_that_the_json_manifest_lists(finished: Path) -> None:
    checkpoints = finished / "checkpoints"
    result = weir("checkpoints", checkpoints, "show", str(restorable_ids(checkpoints)[-1]), "--json")
    manifest = json.loads(result.out)
    files = [file for task in manifest["subtasks"] for one in task["operators"] for file in one["files"]]
    rows = [row for file in files for row in ipc.open_file(checkpoints / "small" / file["path"]).read_all().to_pylist()]
    assert sorted(row["key"] for row in rows) == list(range(7))


def test_intact_checkpoints_are_verified(finished: Path) -> None:
    result = weir("checkpoints", finished / "checkpoints", "verify")
    assert result.code == 0
    assert result.out.count(": verified, ") == 4


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x40
    path.write_bytes(data)


def test_verify_exits_with_code_5_if_a_file_is_damaged(finished: Path) -> None:
    damaged = sorted((finished / "checkpoints" / "small" / "state" / "packed.slots").glob("*.pack"))[-1]
    damage(damaged)
    result = weir("checkpoints", finished / "checkpoints", "verify")
    assert result.code == 5
    assert result.out.count("DAMAGED") == 1
    assert result.out.count(": verified, ") == 3
    problem = next(line for line in result.out.splitlines() if damaged.name in line)
    assert problem.strip().startswith(f"small/state/packed.slots/{damaged.name} is damaged at byte ")


def test_verify_finds_a_missing_file_and_a_truncated_manifest(finished: Path) -> None:
    small = finished / "checkpoints" / "small"
    restorable = restorable_ids(finished / "checkpoints")
    manifest = next((small / "checkpoints" / str(restorable[0])).iterdir())
    manifest.write_bytes(manifest.read_bytes()[:100])
    lost = next((small / "state" / "packed.slots").glob(f"g1-c{restorable[-1]}-*"))
    lost.unlink()
    result = weir("checkpoints", finished / "checkpoints", "verify", "--json")
    assert result.code == 5
    reports = {one["checkpoint"]: one for one in json.loads(result.out)}
    assert [one for one in restorable if reports[one]["intact"]] == restorable[1:-1]
    assert "truncated (100 bytes" in reports[restorable[0]]["problems"][0]["problem"]
    assert reports[restorable[-1]]["problems"] == [{"path": f"small/state/packed.slots/{lost.name}", "problem": "is missing"}]


def test_invalid_arguments_are_refused_with_a_reason(finished: Path, tmp_path: Path) -> None:
    checkpoints = finished / "checkpoints"
    unknown = weir("checkpoints", checkpoints, "show", "999")
    assert unknown.code == 2 and "999" in unknown.message
    assert "The checkpoint id is missing" in weir("checkpoints", checkpoints, "show").message
    assert "Use list, show or verify" in weir("checkpoints", checkpoints, "remove").message
    assert "contains the jobs small. Choose a job with --job" in weir("checkpoints", checkpoints, "--job", "tall").message
    nothing = weir("checkpoints", tmp_path / "nothing")
    assert nothing.code == 2 and "No job found in" in nothing.message
