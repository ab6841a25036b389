"""Exit codes, signals and options of ``weir run``, with a fake job."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from tests.unit.cli.fakes import BrokenStream, FakeRunningJob, finished

from weir import Job
from weir.cli import app, progress, run
from weir.cli.exit_codes import Exit
from weir.coordinator.start import FromCheckpoint
from weir.errors import ConfigError, SinkError, Superseded
from weir.kernel.config import Timeouts, parse_duration_ms
from weir.kernel.effects import JobOutcome
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.job_log import CheckpointCompleted, GenerationStarted
from weir.spark.launch import JobResult
from weir.spark.options import RunOptions
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.local import LocalStorage

JOB = """
from weir import Job, sinks, sources

def job():
    job = Job("small")
    job.read(sources.iterable([{"a": 1}]), uid="in").write(sinks.console(), uid="out")
    return job
"""


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def code_of(
    running: FakeRunningJob,
    monkeypatch: pytest.MonkeyPatch,
    directory: Path,
    *arguments: str,
    started: list[RunOptions] | None = None,
) -> int | str | None:
    """Run the command and return its exit code. The launch options are appended to ``started``."""

    def launch(job: Job, options: RunOptions, *, session: object, link: object) -> FakeRunningJob:
        if started is not None:
            started.append(options)
        return running

    (directory / "small.py").write_text(JOB)
    monkeypatch.setattr(run, "launch", launch)
    monkeypatch.setattr(
        sys, "argv", ["weir", "run", str(directory / "small.py"), "--checkpoint-dir", str(directory / "cp"), *arguments]
    )
    with pytest.raises(SystemExit) as ended:
        app.app()
    return ended.value.code


def test_a_run_that_fails_after_its_start_exits_with_the_code_of_a_failed_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running = FakeRunningJob(SinkError("sink 'out': cannot read the collected rows"))
    assert code_of(running, monkeypatch, tmp_path) == Exit.JOB_FAILED
    assert capsys.readouterr().err == "weir: job failed: sink 'out': cannot read the collected rows\n"
    assert code_of(FakeRunningJob(Superseded("another one runs it")), monkeypatch, tmp_path) == Exit.SUPERSEDED


def test_a_run_that_fails_before_its_start_exits_with_the_code_of_an_invalid_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert code_of(FakeRunningJob(), monkeypatch, tmp_path, "--interval", "0s") == Exit.USAGE


def test_a_driver_whose_limit_of_descriptors_is_too_low_for_its_slots_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(JOB)
    arguments = ["run", str(tmp_path / "small.py"), "--checkpoint-dir", str(tmp_path / "cp"), "--parallelism", "1000"]
    program = (
        "import sys; from resource import RLIMIT_NOFILE, setrlimit; from weir.cli.app import app; "
        "setrlimit(RLIMIT_NOFILE, (1500, 1500)); sys.argv[0] = 'weir'; app()"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == Exit.USAGE
    assert done.stderr.startswith("weir: The driver (pid ") and "2,000 for connections" in done.stderr
    assert "The limit is 1,500." in done.stderr and "Traceback" not in done.stderr
    assert not list((tmp_path / "cp").rglob("*.json")), "no generation was started"


def test_the_notes_about_a_restore_are_printed_while_the_job_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running = FakeRunningJob(waits=1, notes=("aggregate 'counts' starts without state",))
    printed: list[str] = []
    wait = running.wait

    def waiting(timeout_s: float | None = None) -> JobResult | None:
        printed.append(capsys.readouterr().err)
        return wait(timeout_s)

    running.wait = waiting  # type: ignore[method-assign]  # reads what was printed before the end
    assert code_of(running, monkeypatch, tmp_path) == Exit.OK
    assert printed[0] == "note: aggregate 'counts' starts without state\n"


def limits_of(options: RunOptions) -> tuple[object, ...]:
    return (
        options.interval_ms,
        options.checkpoint_timeout_ms,
        options.min_pause_ms,
        options.tolerable_failed_checkpoints,
        options.retained,
    )


def test_checkpoint_options_are_passed_to_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[RunOptions] = []
    limits = ("--checkpoint-timeout", "1.5m", "--min-pause", "500ms", "--tolerable-failed-checkpoints")
    for arguments in ((), (*limits, "0"), (*limits, "none")):
        assert code_of(FakeRunningJob(), monkeypatch, tmp_path, *arguments, started=started) == Exit.OK
    default, *limited = map(limits_of, started)
    assert default == limits_of(RunOptions("cp")), "the command line and the library have the same defaults"
    assert limited == [(10_000, 90_000, 500, 0, 3), (10_000, 90_000, 500, None, 3)]


def test_timeouts_and_network_memory_are_passed_to_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[RunOptions] = []
    chosen = (
        "--heartbeat-timeout=10s",
        "--stuck-timeout=5s",
        "--call-timeout=1.5m",
        "--slots-timeout=1h",
        "--deploy-timeout=5m",
        "--cancel-timeout=500ms",
        "--connect-timeout=2m",
    )
    unlimited = ("--slots-timeout=none", "--stuck-timeout=0", "--call-timeout=none")
    for arguments in ((), (*chosen, "--network-memory=1GiB"), unlimited):
        assert code_of(FakeRunningJob(), monkeypatch, tmp_path, *arguments, started=started) == Exit.OK
    assert [(one.timeouts, one.network_bytes) for one in started] == [
        (Timeouts(), RunOptions("cp").network_bytes),
        (
            Timeouts(
                heartbeat_timeout_ms=10_000,
                stuck_timeout_ms=5_000,
                call_timeout_ms=90_000,
                slots_timeout_ms=3_600_000,
                deploy_timeout_ms=300_000,
                cancel_timeout_ms=500,
                connect_timeout_ms=120_000,
            ),
            1 << 30,
        ),
        (Timeouts(stuck_timeout_ms=None, call_timeout_ms=None), RunOptions("cp").network_bytes),
    ]


def test_the_buffer_timeout_is_passed_to_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[RunOptions] = []
    for arguments in (
        (),
        ("--buffer-timeout=adaptive",),
        ("--buffer-timeout=0",),
        ("--buffer-timeout=0ms",),
        ("--buffer-timeout=0.25s",),
    ):
        assert code_of(FakeRunningJob(), monkeypatch, tmp_path, *arguments, started=started) == Exit.OK
    assert [one.buffer_timeout_ms for one in started] == [None, None, 0, 0, 250]


def test_the_option_min_pause_is_accepted_without_periodic_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[RunOptions] = []
    for arguments in (("--min-pause", "0s"), ("--interval", "none", "--min-pause", "1h")):
        assert code_of(FakeRunningJob(), monkeypatch, tmp_path, *arguments, started=started) == Exit.OK
    assert [limits_of(one)[:3] for one in started] == [(10_000, 600_000, 0), (None, 600_000, 3_600_000)]


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--interval", "soon", "--interval 'soon' is not a duration. Write a number with ms, s, m or h"),
        ("--checkpoint-timeout", "10", "--checkpoint-timeout '10' is not a duration. Write a number with ms, s, m or h"),
        ("--checkpoint-timeout", "0s", "--checkpoint-timeout '0s' is out of range. Use a duration from 1ms to 10000h"),
        ("--checkpoint-timeout", "none", "--checkpoint-timeout 'none' is not a duration"),
        ("--stuck-timeout", "500ms", "--stuck-timeout '500ms' is out of range. Use a duration from 1000ms to 10000h"),
        ("--min-pause", "-1s", "--min-pause '-1s' is not a duration"),
        ("--min-pause", "10001h", "--min-pause '10001h' is out of range. Use a duration from 0ms to 10000h"),
        (
            "--tolerable-failed-checkpoints",
            "-1",
            "--tolerable-failed-checkpoints '-1' is not a count. Write a number from 0 to 1000",
        ),
        ("--tolerable-failed-checkpoints", "1001", "--tolerable-failed-checkpoints '1001' is not a count"),
        ("--tolerable-failed-checkpoints", "many", "--tolerable-failed-checkpoints 'many' is not a count"),
        ("--heartbeat-timeout", "1s", "--heartbeat-timeout '1s' is out of range. Use a duration from 2000ms to 10000h"),
        ("--deploy-timeout", "1s", "--deploy-timeout '1s' is out of range. Use a duration from 2000ms to 10000h"),
        ("--deploy-timeout", "none", "--deploy-timeout 'none' is not a duration"),
        ("--slots-timeout", "5", "--slots-timeout '5' is not a duration. Write a number with ms, s, m or h"),
        ("--network-memory", "256", "--network-memory '256' is not a size. Write a number with KiB, MiB or GiB"),
        ("--network-memory", "1KiB", "--network-memory '1KiB' is out of range. Use a size from 1MiB to 1024GiB"),
    ],
)
def test_the_error_for_an_invalid_limit_names_its_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str, value: str, message: str
) -> None:
    assert code_of(FakeRunningJob(), monkeypatch, tmp_path, f"{option}={value}") == Exit.USAGE
    assert capsys.readouterr().err.startswith(f"weir: {message}")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_job_finishes_although_standard_error_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setattr(progress, "PRINT_EVERY_S", 0.0)
    monkeypatch.setattr(sys, "stderr", BrokenStream())
    running = FakeRunningJob(waits=3)
    assert code_of(running, monkeypatch, tmp_path, "--log-format", form) == Exit.OK
    assert running.waits == 0


def test_json_output_contains_the_result_even_with_the_option_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(FakeRunningJob(), monkeypatch, tmp_path, "--quiet", "--output", "json") == Exit.OK
    printed = capsys.readouterr()
    assert printed.err == ""
    assert json.loads(printed.out) == {
        "job": "small",
        "outcome": "finished",
        "reason": "",
        "kind": "",
        "records": 0,
        "checkpoints": 0,
        "last_checkpoint": None,
        "recovered_ms": [],
        "warnings": [],
        "notes": [],
    }


def test_json_output_of_a_failed_job_contains_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = FakeRunningJob(replace(finished(), outcome=JobOutcome.FAILED, reason="sink 'out' is full", kind="SinkError"))
    assert code_of(failed, monkeypatch, tmp_path, "-o", "json") == Exit.JOB_FAILED
    printed = capsys.readouterr()
    ended = json.loads(printed.out)
    assert (ended["outcome"], ended["reason"], ended["kind"]) == ("failed", "sink 'out' is full", "SinkError")
    assert printed.err == "job failed: sink 'out' is full\n"


def test_a_signal_suspends_the_job_although_standard_error_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", BrokenStream())
    running = FakeRunningJob()
    run.suspend_on_signals(running)  # type: ignore[arg-type]  # it has the methods that are used
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
    assert running.calls == ["suspend", "cancel"]


@pytest.mark.parametrize("text", ["0s", "0.4ms", "0h", "1e3s", "-1s", "9" * 400 + "h"])
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a duration|is out of range"):
        parse_duration_ms(text)


def test_durations_are_parsed() -> None:
    assert [parse_duration_ms(text) for text in ("1ms", "500ms", "10s", "1.5m", "1h")] == [
        1,
        500,
        10_000,
        90_000,
        3_600_000,
    ]


def test_a_secret_on_the_command_line_is_refused() -> None:
    assert run.parse_spark_conf(["spark.authenticate=true", "spark.cores.max=4"]) == {
        "spark.authenticate": "true",
        "spark.cores.max": "4",
    }
    for name in ("spark.authenticate.secret", "spark.hadoop.fs.s3a.secret.key"):
        with pytest.raises(ConfigError, match=f"--conf {name} is a secret.* WEIR_SPARK_CONF_FILE") as caught:
            run.parse_spark_conf([f"{name}=confidential"])
        assert "confidential" not in str(caught.value)


def test_interrupting_the_confirmation_cancels_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> bool:
        raise typer.Abort

    monkeypatch.setattr(typer, "confirm", interrupted)
    with pytest.raises(typer.Exit) as ended:
        run.confirm("Roll back?")
    assert ended.value.exit_code == Exit.CANCELED


@pytest.mark.parametrize(
    ("completed", "yes", "abandonable"),
    [(3, False, {2, 3}), (1, False, set()), (3, True, None)],
)
def test_a_run_can_abandon_only_checkpoints_that_the_user_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, completed: int, yes: bool, abandonable: set[int] | None
) -> None:
    log = JobLog(LocalStorage(tmp_path / "cp"), JobLayout("small"))
    log.append(GenerationStarted(Generation(1), None, "b1", CheckpointId(1), "n", 0), at=1)
    for one in range(1, completed + 1):
        log.append(CheckpointCompleted(Generation(1), CheckpointId(one), "m", "c", 0, f"n{one}", 0), at=one + 1)
    monkeypatch.setattr(typer, "confirm", lambda *arguments, **options: True)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    started: list[RunOptions] = []
    running = FakeRunningJob()
    assert code_of(running, monkeypatch, tmp_path, "--from", "1", *(["--yes"] if yes else []), started=started) == Exit.OK
    assert started[0].start == FromCheckpoint(
        CheckpointId(1), None if abandonable is None else frozenset(map(CheckpointId, abandonable))
    )
