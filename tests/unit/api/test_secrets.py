"""Secrets of jobs: parameters that are references, whose values only functions and connectors read."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from weir import Job, Params, Secret, sinks, sources
from weir.api.job_loader import build_job, declared_params
from weir.api.params import Parameter, ParameterType
from weir.errors import ConfigError, Retry, UserCodeError
from weir.operators.user_code import user_code_error
from weir.protocol import codec
from weir.protocol.secret_references import VALUE_BYTES_MAX, platform_secrets
from weir.secrets import set_platform_secrets, without_secrets
from weir.spark.pickling import pack_code
from weir.subtask.program import load_code

VALUE = "planted-3f9c"


@pytest.fixture(autouse=True)
def new_process() -> Iterator[None]:
    set_platform_secrets({})
    yield
    set_platform_secrets({})


def secret(reference: str) -> Secret:
    return Params({"KAFKA": reference}).secret("KAFKA")


def file_secret(path: Path, data: bytes) -> Secret:
    path.write_bytes(data)
    return secret(f"file:{path}")


def test_a_secret_is_a_reference_without_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", VALUE)
    kafka = secret("env:KAFKA_PASSWORD")
    assert kafka.value() == VALUE
    assert VALUE not in f"{kafka} {kafka!r}" and VALUE not in str(pickle.dumps(kafka))
    values: list[object] = [VALUE, "env:KAFKA_PASSWORD", str(kafka)]
    assert kafka not in values
    assert codec.to_json(kafka) == {"parameter": "KAFKA", "reference": "env:KAFKA_PASSWORD"}
    assert codec.from_json(Secret, codec.to_json(kafka)) == kafka


def test_each_kind_of_reference_has_a_value(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "from the environment")
    set_platform_secrets({"kafka": "from the platform"})
    assert secret("env:KAFKA_PASSWORD").value() == "from the environment"
    assert secret("secret:kafka").value() == "from the platform"
    assert file_secret(tmp_path / "a", b"from a file\n").value() == "from a file"
    assert file_secret(tmp_path / "b", b" two\nlines \r\n").value() == " two\nlines "


def test_a_value_is_read_once_until_the_process_works_for_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "old")
    assert secret("env:KAFKA_PASSWORD").value() == "old"
    monkeypatch.setenv("KAFKA_PASSWORD", "new")
    assert secret("env:KAFKA_PASSWORD").value() == "old"
    set_platform_secrets({})
    assert secret("env:KAFKA_PASSWORD").value() == "new"


@pytest.mark.parametrize("given", [VALUE, "", 5, f"env:{VALUE}", "file:relative", "secret:", "vault:x", "ENV:A", "file:/a\n"])
def test_a_plain_value_is_refused_with_an_error_that_says_what_to_write(given: object) -> None:
    with pytest.raises(ConfigError) as refused:
        Params({"KAFKA": given}).secret("KAFKA")
    assert str(refused.value) == (
        "Parameter 'KAFKA' is a secret, so its value must be a reference: write KAFKA=env:VARIABLE, KAFKA=file:/PATH or "
        "KAFKA=secret:NAME (a secret of the platform)."
    )


def test_a_secret_can_have_a_default_and_is_listed_as_a_parameter(tmp_path: Path) -> None:
    params = Params()
    assert params.secret("A", "env:A") == Secret("A", "env:A")
    assert params.secret("B", None, help="password") is None
    assert params.declared[1] == Parameter("B", ParameterType.SECRET, False, None, "password")
    for default in ("secret:kafka", VALUE):
        with pytest.raises(ConfigError, match="The default of parameter 'C' must be a reference env:VARIABLE or file:/PATH"):
            params.secret("C", default)
    with pytest.raises(ConfigError, match=r"The job needs parameter 'D'. Set it with --set D=env:VARIABLE."):
        params.secret("D")
    file = tmp_path / "listed.py"
    file.write_text("def job(params):\n    params.secret('KAFKA')\n    params.int('rows', 1)\n")
    assert [one.name for one in declared_params(str(file)).parameters] == ["KAFKA", "rows"]


def test_a_job_function_cannot_read_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", VALUE)

    def job(params: Params) -> Job:
        params.secret("KAFKA").value()
        return Job("never")

    with pytest.raises(ConfigError, match="reads the value of secret 'KAFKA' while the job is built.* call value\\(\\) there"):
        build_job(job, {"KAFKA": "env:KAFKA_PASSWORD"})
    assert secret("env:KAFKA_PASSWORD").value() == VALUE


def test_the_graph_and_the_code_of_a_job_contain_the_reference_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", VALUE)

    def job(params: Params) -> Job:
        job = Job("shipped")
        kafka = params.secret("KAFKA")
        rows = job.read(sources.iterable([{"a": 1}], pa.schema([("a", pa.int64())])), uid="rows")
        rows.map(lambda row: {"a": len(kafka.value())}, schema={"a": int}, uid="uses").write(sinks.collect(), uid="out")
        return job

    graph, code = build_job(job, {"KAFKA": "env:KAFKA_PASSWORD"}).to_graph()
    assert VALUE not in str(codec.to_json(graph))
    packed = pack_code(code.entries)
    assert VALUE.encode() not in b"".join(packed.values()) and b"env:KAFKA_PASSWORD" in b"".join(packed.values())
    functions = [one for one in load_code(packed, "slot").entries.values() if callable(one)]
    assert [function({"a": 1}) for function in functions] == [{"a": len(VALUE)}]


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("env:MISSING", "the environment variable MISSING is not set. Set it for the driver and its executors."),
        ("file:/nowhere/kafka", "No such file or directory. Check the path and the permissions of the file."),
        ("file:/tmp", "Is a directory. Check the path"),
        (
            "secret:kafka",
            "only a job that the platform runs can use a secret of the platform, and a parameter of the job must refer",
        ),
    ],
)
def test_the_error_for_a_missing_value_names_secret_reference_and_host(
    monkeypatch: pytest.MonkeyPatch, reference: str, reason: str
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "slot-host")
    monkeypatch.delenv("MISSING", raising=False)
    with pytest.raises(ConfigError) as failed:
        secret(reference).value()
    assert str(failed.value).startswith(f"Cannot read secret 'KAFKA' ({reference}) on host slot-host: {reason}")
    assert failed.value.retry is Retry.NEVER


def test_a_file_that_is_too_large_or_not_text_is_refused(tmp_path: Path) -> None:
    assert len(file_secret(tmp_path / "a", b"x" * VALUE_BYTES_MAX).value()) == VALUE_BYTES_MAX
    for name, data, reason in (
        ("b", b"planted" * VALUE_BYTES_MAX, "the file is larger than 32 KiB"),
        ("c", b"planted\xff", "the file is not UTF-8 text"),
    ):
        with pytest.raises(ConfigError, match=reason) as failed:
            file_secret(tmp_path / name, data).value()
        assert "planted" not in str(failed.value)


def test_a_failing_device_can_be_read_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("builtins.open", fails)
    with pytest.raises(ConfigError, match="Input/output error") as failed:
        secret("file:/run/secrets/kafka").value()
    assert failed.value.retry is Retry.BACKOFF


def test_a_secret_that_a_function_cannot_read_is_a_configuration_error() -> None:
    error = user_code_error("map 'a'", len, ConfigError("Cannot read secret 'KAFKA'"), "the row")
    assert isinstance(error, ConfigError) and str(error) == "map 'a': Cannot read secret 'KAFKA'"
    assert isinstance(user_code_error("map 'a'", len, ValueError("x"), "the row"), UserCodeError)


def test_reported_errors_contain_the_reference_in_place_of_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", VALUE)
    monkeypatch.setenv("SHORT", "a")
    assert (secret("env:KAFKA_PASSWORD").value(), secret("env:SHORT").value()) == (VALUE, "a")
    assert without_secrets(f"a login with {VALUE} failed") == "a login with <env:KAFKA_PASSWORD> failed"


def test_the_secrets_of_the_platform_are_found_among_the_values_of_parameters() -> None:
    assert platform_secrets(["secret:kafka", "secret:", 5, "env:A", "secret:a.b-c"]) == {"kafka", "a.b-c"}
