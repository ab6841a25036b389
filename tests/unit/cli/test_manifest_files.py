"""Reading job manifests: values, and errors with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from weir.cli.client.errors import Refused
from weir.cli.manifest_files import read_manifests

CODE = "def job(params): ...\n"
MANIFEST = """\
name: flights
file: flights.py
labels: {team: etl}
spec:
  parallelism: 4
  parameters:
    day: 2013-01-01
    strict: no
    factor: 1.5
    limit: 0777
    deep: true
  checkpointing:
    interval: 5s
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "flights.py").write_text(CODE)
    return tmp_path


def write(folder: Path, text: str, name: str = "flights.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def errors_of(path: Path) -> list[str]:
    found, errors = read_manifests([path])
    assert found == []
    return [str(error).removeprefix(f"{path}") for error in errors]


def test_a_manifest_contains_the_values_of_its_file_and_the_code(folder: Path) -> None:
    (manifest,), errors = read_manifests([write(folder, MANIFEST)])
    assert errors == [] and (manifest.name, manifest.code.name, manifest.code.entry) == ("flights", "flights.py", "job")
    body = manifest.body("abc123")
    assert (body["labels"], body["comment"], body["spec"]["parallelism"]) == ({"team": "etl"}, "abc123", 4)
    assert body["spec"]["artifact"] == manifest.code.digest
    parameters = {"day": "2013-01-01", "strict": "no", "factor": 1.5, "limit": "0777", "deep": True}
    assert body["spec"]["parameters"] == parameters, "only values of JSON have a type other than string"


def test_json_with_tabs_is_read(folder: Path) -> None:
    path = write(folder, '{\n\t"name": "flights",\n\t"file": "flights.py:main",\n\t"spec": {}\n}', "flights.json")
    (manifest,), _ = read_manifests([path])
    assert manifest.code.entry == "main" and manifest.source.lines == {"": 1, "name": 2, "file": 3, "spec": 4}


def test_a_directory_and_a_file_with_several_documents_contain_several_manifests(folder: Path) -> None:
    write(folder, f"{MANIFEST}---\n{MANIFEST.replace('name: flights', 'name: late')}")
    write(folder, MANIFEST.replace("name: flights", "name: early"), "a.yml")
    write(folder, "not a manifest", "README.md")
    (folder / "more").mkdir()
    found, errors = read_manifests([folder])
    assert [one.name for one in found] == ["early", "flights", "late"] and errors == []
    assert [one.source.lines[""] for one in found] == [1, 1, 15]


def test_an_error_names_the_line_of_the_innermost_known_field(folder: Path) -> None:
    (manifest,), _ = read_manifests([write(folder, MANIFEST)])
    error = manifest.source.error_of_fields(
        [("spec.checkpointing.interval", "too short"), ("spec.timeouts.call", "too long"), ("", "no")]
    )
    path = folder / "flights.yaml"
    assert str(error).splitlines() == [
        f"{path}:13: spec.checkpointing.interval: too short",
        f"{path}:4: spec.timeouts.call: too long",
        f"{path}:1: no",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [flights\nfile: flights.py\n", ":2: "),
        ("- flights\n", ":1: a job manifest is a mapping with the fields name, file,"),
        ("file: flights.py\nspec: {}\n", ":1: the field 'name' is missing."),
        ("name: flights\nspec: {}\n", ":1: the field 'file' is missing."),
        ("name: flights\nfile: flights.py\n", ":1: the field 'spec' is missing."),
        ("name: flights\nname: late\n", ":2: 'name' is given twice."),
        (MANIFEST + "  parallelism: 5\n", ":14: 'spec.parallelism' is given twice."),
        (MANIFEST + "lables: {}\n", ":14: lables: is not a field of a job manifest. The fields are name, file,"),
        (MANIFEST.replace("name: flights", "name: a b"), ':1: name: "a b" is not a valid job name.'),
        (MANIFEST.replace("name: flights", "name: 7"), ":1: name: 7 is not a valid job name."),
        (MANIFEST.replace("flights.py", "nowhere.py"), ":2: file: Cannot read"),
        (MANIFEST.replace("flights.py", "flights.txt"), ":2: file: Cannot deploy"),
        (MANIFEST.replace("flights.py", "[a]"), ':2: file: ["a"] is not the path of a file.'),
        (MANIFEST + "  entry: job\n", ":14: spec.entry: is not allowed here. Use the field 'file' of the manifest."),
        ("name: flights\nfile: flights.py\nspec: 7\n", ":3: spec: must be a mapping"),
        ("name: &a [*a]\nfile: flights.py\nspec: {}\n", ":1: the manifest cannot be written as JSON"),
        ("name: flights\nfile: flights.py\nspec: {limit: !!float .inf}\n", ":1: the manifest cannot be written as JSON"),
        ("name: flights\nfile: flights.py\nspec: {day: !!timestamp 2013-01-01}\n", ":1: the manifest cannot be written as JSON"),
        ("name: flights\nfile: !python/object:os.system flights.py\n", ":2: could not determine a constructor"),
        ("name: fl\x01ights\n", ": "),
    ],
)  # fmt: skip
def test_an_invalid_manifest_is_reported_with_file_and_line(folder: Path, text: str, message: str) -> None:
    (error,) = errors_of(write(folder, text))
    assert error.startswith(message), error


def test_invalid_manifests_do_not_hide_other_manifests(folder: Path) -> None:
    write(folder, MANIFEST)
    write(folder, "- flights\n", "a.yaml")
    write(folder, MANIFEST, "second.yaml")
    found, errors = read_manifests([folder])
    assert [one.name for one in found] == ["flights"] and len(errors) == 2
    assert f"second.yaml:1: name: 'flights' is also the name in {folder / 'flights.yaml'}:1." in str(errors[1])


def test_a_path_without_manifests_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, write(tmp_path, "# nothing yet\n")):
        with pytest.raises(Refused, match="There is no job manifest"):
            read_manifests([path])
    with pytest.raises(Refused, match="does not exist"):
        read_manifests([tmp_path / "nowhere"])


def test_a_file_that_is_too_large_or_not_text_is_refused(folder: Path) -> None:
    path = write(folder, "# " + "x" * (1 << 20))
    assert "The limit is 1,048,576." in errors_of(path)[0]
    path.write_bytes(b"\xff\xfe\x00")
    assert "cannot read the file" in errors_of(path)[0]
