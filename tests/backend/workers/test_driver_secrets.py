"""A worker passes the secrets of the platform to a driver through a pipe, and the driver reads them once."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from weir.cli.run import SECRETS_FD, take_platform_secrets
from weir_backend.secrets.service import ProvidedSecrets
from weir_workers.drivers import processes
from weir_workers.drivers.run_directory import RunDirectory
from weir_workers.drivers.secrets import PIPE_BYTES_MAX, document

VALUE = 'planted "value"\né'
DRIVER = """
import json, os, sys
from weir.cli.run import take_platform_secrets
name = f"WEIR_SECRETS_FD"
environment = dict(os.environ)
before = os.environ.get(name)
taken = take_platform_secrets(os.environ)
open_again = os.path.exists(f"/proc/self/fd/{before}")
print(json.dumps([dict(taken.values), taken.problem, environment, sys.argv, open_again]))
"""


def output_of_driver(root: Path, secrets: str | None) -> list[object]:
    directory = RunDirectory(root)
    directory.make()
    processes.start(directory, [sys.executable, "-c", DRIVER], {"PYTHONPATH": ":".join(sys.path)}, secrets=secrets)
    deadline_s = time.monotonic() + 60
    while not directory.log.exists() or not directory.log.read_text().endswith("\n"):
        assert time.monotonic() < deadline_s, "the driver has printed nothing"
        time.sleep(0.05)
    found: list[object] = json.loads(directory.log.read_text())
    return found


def test_a_driver_reads_the_secrets_from_a_pipe_and_not_from_its_environment_or_arguments(tmp_path: Path) -> None:
    values, problem, environment, arguments, open_again = output_of_driver(tmp_path, document(ProvidedSecrets({"kafka": VALUE})))
    assert (values, problem) == ({"kafka": VALUE}, None)
    assert "planted" not in json.dumps([environment, arguments]) and open_again is False
    for path in tmp_path.rglob("*"):
        assert path.name == "driver.log" or not path.is_file() or b"planted" not in path.read_bytes()


def test_a_driver_of_a_job_without_secrets_gets_no_pipe(tmp_path: Path) -> None:
    values, problem, environment, *_ = output_of_driver(tmp_path, document(ProvidedSecrets()))
    assert (values, problem) == ({}, None) and isinstance(environment, dict) and SECRETS_FD not in environment


def test_the_largest_document_fits_into_a_pipe(tmp_path: Path) -> None:
    overhead = len(document(ProvidedSecrets({"a": ""})) or "")
    values, *_ = output_of_driver(tmp_path, document(ProvidedSecrets({"a": "x" * (PIPE_BYTES_MAX - overhead)})))
    assert isinstance(values, dict) and len(values["a"]) == PIPE_BYTES_MAX - overhead


def test_secrets_that_do_not_fit_into_a_pipe_are_reported_to_the_driver() -> None:
    found = json.loads(document(ProvidedSecrets({"a": "planted" * 5_000, "b": "planted" * 5_000})) or "")
    assert found["values"] == {} and found["problem"].endswith("larger than 60,000 bytes together. Use file:.")


def test_the_variable_is_removed_from_the_environment_of_the_driver() -> None:
    reader, writer = os.pipe()
    os.write(writer, (document(ProvidedSecrets(problem="no secret 'kafka'")) or "").encode())
    os.close(writer)
    environment = {SECRETS_FD: str(reader), "LANG": "C"}
    assert take_platform_secrets(environment).problem == "no secret 'kafka'" and environment == {"LANG": "C"}
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reader)
