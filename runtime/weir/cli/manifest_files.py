"""Read job manifests from YAML and JSON files, with the line of each field for error messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from weir.cli.client.errors import Refused
from weir.cli.commands.deploy import NAME_RULE, Code, is_job_name, read_code
from weir.errors import WeirError

SUFFIXES = (".yaml", ".yml", ".json")
FILE_BYTES_MAX = 1 << 20
FIELDS = ("name", "file", "description", "labels", "desired_state", "upgrade_mode", "spec")
_REQUIRED = ("name", "file", "spec")
_FROM_FILE = ("artifact", "entry")
"""Fields of a spec that result from the field ``file`` of the manifest."""


class InvalidManifest(WeirError):
    """A manifest is invalid. The message begins with the file and the line."""


@dataclass(frozen=True, slots=True)
class ManifestSource:
    """Where a manifest is in a file.

    ``lines`` maps the path of each field, such as ``spec.parallelism``, to its line. The path '' stands for the whole manifest.
    """

    path: Path
    lines: Mapping[str, int]

    def error(self, message: str, field: str = "") -> InvalidManifest:
        """Return an error with the line of ``field``, or of its nearest parent if the manifest does not contain ``field``."""
        parts = field.split(".") if field else []
        found = next((known for count in range(len(parts), 0, -1) if (known := ".".join(parts[:count])) in self.lines), "")
        return InvalidManifest(f"{self.path}:{self.lines[found]}: {field + ': ' if field else ''}{message}")

    def error_of_fields(self, invalid: Sequence[tuple[str, str]]) -> InvalidManifest:
        """Return an error with one line of text for each pair of a field and its problem."""
        return InvalidManifest("\n".join(str(self.error(problem, field)) for field, problem in invalid))


@dataclass(frozen=True, slots=True)
class JobManifest:
    """``fields`` contains the fields of the manifest except ``name``, ``file`` and fields that are null."""

    source: ManifestSource
    name: str
    code: Code
    fields: Mapping[str, Any]

    def body(self, comment: str) -> dict[str, Any]:
        """Return the body of the request that applies the manifest."""
        spec = {**self.fields["spec"], "artifact": self.code.digest, "entry": self.code.entry}
        return {**self.fields, "spec": spec, "comment": comment}


def read_manifests(targets: Sequence[Path]) -> tuple[list[JobManifest], list[InvalidManifest]]:
    """Read all manifests in files and directories.

    Return the valid manifests in the order of their files, and the errors of invalid manifests and files. Raises Refused if
    ``targets`` contain no manifest.
    """
    found: list[JobManifest] = []
    errors: list[InvalidManifest] = []
    by_name: dict[str, ManifestSource] = {}
    for path in _files(targets):
        try:
            for source, data in _documents(path):
                try:
                    manifest = _manifest(source, data)
                    if manifest.name in by_name:
                        first = by_name[manifest.name]
                        raise source.error(
                            f"'{manifest.name}' is also the name in {first.path}:{first.lines['name']}. Rename one.", "name"
                        )
                    by_name[manifest.name] = source
                    found.append(manifest)
                except InvalidManifest as error:
                    errors.append(error)
        except InvalidManifest as error:
            errors.append(error)
    if not found and not errors:
        raise Refused(f"There is no job manifest in {', '.join(map(str, targets))}. Write one manifest per job to a .yaml file.")
    return found, errors


def _files(targets: Sequence[Path]) -> Iterator[Path]:
    for target in targets:
        if target.is_dir():
            yield from sorted(path for path in target.iterdir() if path.suffix in SUFFIXES and path.is_file())
        elif target.is_file():
            yield target
        else:
            raise Refused(f"{target} does not exist. Pass a file or a directory with job manifests.")


def _documents(path: Path) -> Iterator[tuple[ManifestSource, Any]]:
    """Yield the documents of a file. Raises InvalidManifest."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidManifest(f"{path}: cannot read the file: {error}") from None
    if len(text) > FILE_BYTES_MAX:
        raise InvalidManifest(f"{path}: the file has {len(text):,} characters. The limit is {FILE_BYTES_MAX:,}. Split the file.")
    if path.suffix == ".json":
        text = text.replace("\t", " ")  # YAML does not allow all tabs that JSON allows, and strings of JSON contain no tabs
    try:
        loader = _Loader(text)
        while loader.check_node():
            node = loader.get_node()
            source = ManifestSource(path, dict(_lines(path, node)))
            data = loader.construct_document(node)
            try:
                json.dumps(data, allow_nan=False)
            except (TypeError, ValueError, RecursionError) as error:
                raise source.error(f"the manifest cannot be written as JSON: {error}.") from None
            yield source, data
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise InvalidManifest(f"{path}:{line}: {error.problem or error.context}. Correct the YAML.") from None
    except yaml.YAMLError as error:
        raise InvalidManifest(f"{path}: {' '.join(str(error).split())}. Correct the YAML.") from None


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no annotations
    """Reads only the types of JSON, as YAML 1.2 does. ``no`` and ``2013-01-01`` are strings."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


for _tag, _pattern, _first in (
    ("null", r"~|null|", ["~", "n", ""]),
    ("bool", r"true|false", ["t", "f"]),
    ("int", r"-?(?:0|[1-9][0-9]*)", list("-0123456789")),
    ("float", r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", list("-0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)


def _lines(path: Path, document: yaml.Node | None) -> Iterator[tuple[str, int]]:
    """Yield the path and the line of each field. Raises InvalidManifest if a field is given twice."""
    yield "", document.start_mark.line + 1 if document is not None else 1
    waiting: list[tuple[str, yaml.Node | None]] = [("", document)]
    seen: set[int] = set()
    while waiting:
        prefix, node = waiting.pop()
        if not isinstance(node, yaml.MappingNode) or id(node) in seen:
            continue
        seen.add(id(node))  # an alias can refer to its own parent
        names: set[str] = set()
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in names:
                raise InvalidManifest(f"{path}:{line}: '{prefix}{name}' is given twice. Remove one of the two.")
            names.add(name)
            yield prefix + name, line
            waiting.append((f"{prefix}{name}.", value))


def _manifest(source: ManifestSource, data: Any) -> JobManifest:
    """Check the structure, the name and the file of a manifest. The API checks the other fields. Raises InvalidManifest."""
    if not isinstance(data, dict):
        raise source.error(f"a job manifest is a mapping with the fields {', '.join(FIELDS)}.")
    for name in data:
        if name not in FIELDS:
            raise source.error(f"is not a field of a job manifest. The fields are {', '.join(FIELDS)}.", str(name))
    for name in _REQUIRED:
        if data.get(name) is None:
            raise source.error(f"the field '{name}' is missing. Add it.")
    name, file, spec = (data[field] for field in _REQUIRED)
    if not isinstance(name, str) or not is_job_name(name):
        raise source.error(f"{json.dumps(name)} is not a valid job name. {NAME_RULE}", "name")
    if not isinstance(file, str):
        raise source.error(f"{json.dumps(file)} is not the path of a file. Pass a path, such as 'flights.py'.", "file")
    if not isinstance(spec, dict):
        raise source.error("must be a mapping, such as {parallelism: 2}.", "spec")
    for field in _FROM_FILE:
        if field in spec:
            raise source.error("is not allowed here. Use the field 'file' of the manifest.", f"spec.{field}")
    try:
        code = read_code(str(source.path.parent / file))
    except Refused as error:
        raise source.error(str(error), "file") from None
    fields = {field: value for field, value in data.items() if field not in ("name", "file") and value is not None}
    return JobManifest(source, name, code, fields)
