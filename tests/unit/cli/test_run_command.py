"""``weir run`` around a job that only seems to run: exit codes, signals, words that nobody hears."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from tests.unit.cli.running import EndsSoon, NobodyListens, finished

from weir import Job
from weir.cli import app, progress_line, questions, run, words
from weir.cli.exits import Exit
from weir.coordinator.start import FromCheckpoint
from weir.errors import ConfigError, SinkError, Superseded
from weir.kernel.effects import Outcome
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.joblog import CheckpointCompleted, GenerationStarted
from weir.spark.options import RunOptions
from weir.storage.joblog import JobLog
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
    running: EndsSoon, monkeypatch: pytest.MonkeyPatch, directory: Path, *options: str, started: list[RunOptions] | None = None
) -> int | str | None:
    """``started``: the options of the launch are put there."""

    def launch(job: Job, options: RunOptions, *, session: object, link: object) -> EndsSoon:
        if started is not None:
            started.append(options)
        return running

    (directory / "small.py").write_text(JOB)
    monkeypatch.setattr(run, "launch", launch)
    monkeypatch.setattr(
        sys, "argv", ["weir", "run", str(directory / "small.py"), "--checkpoint-dir", str(directory / "cp"), *options]
    )
    with pytest.raises(SystemExit) as ended:
        app.app()
    return ended.value.code


def test_an_error_after_the_start_does_not_say_that_nothing_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running = EndsSoon(SinkError("sink 'out': what was collected cannot be read"))
    assert code_of(running, monkeypatch, tmp_path) == Exit.JOB_FAILED
    assert capsys.readouterr().err == "weir: job failed: sink 'out': what was collected cannot be read\n"
    assert code_of(EndsSoon(Superseded("another one runs it")), monkeypatch, tmp_path) == Exit.SUPERSEDED


def test_an_error_before_the_start_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert code_of(EndsSoon(), monkeypatch, tmp_path, "--interval", "0s") == Exit.USAGE


def limits_of(options: RunOptions) -> tuple[object, ...]:
    return (
        options.interval_ms,
        options.checkpoint_timeout_ms,
        options.min_pause_ms,
        options.tolerable_failed_checkpoints,
        options.retained,
    )


def test_how_checkpoints_are_limited_is_said_by_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[RunOptions] = []
    said = ("--checkpoint-timeout", "1.5m", "--min-pause", "500ms", "--tolerable-failed-checkpoints")
    for more in ((), (*said, "0"), (*said, "none")):
        assert code_of(EndsSoon(), monkeypatch, tmp_path, *more, started=started) == Exit.OK
    unsaid, *limited = map(limits_of, started)
    assert unsaid == limits_of(RunOptions("cp")), "the command line has no defaults of its own"
    assert limited == [(10_000, 90_000, 500, 0, 3), (10_000, 90_000, 500, None, 3)]


def test_no_pause_may_be_said_and_harms_nothing_where_no_checkpoint_is_taken_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[RunOptions] = []
    for more in (("--min-pause", "0s"), ("--interval", "none", "--min-pause", "1h")):
        assert code_of(EndsSoon(), monkeypatch, tmp_path, *more, started=started) == Exit.OK
    assert [limits_of(one)[:3] for one in started] == [(10_000, 600_000, 0), (None, 600_000, 3_600_000)]


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--interval", "soon", "--interval 'soon' is no duration: write a number with ms, s, m or h"),
        ("--checkpoint-timeout", "10", "--checkpoint-timeout '10' is no duration: write a number with ms, s, m or h"),
        ("--checkpoint-timeout", "0s", "--checkpoint-timeout '0s' is no duration that can be kept: from 1ms to 10000h"),
        ("--checkpoint-timeout", "none", "--checkpoint-timeout 'none' is no duration"),
        ("--min-pause", "-1s", "--min-pause '-1s' is no duration"),
        ("--min-pause", "10001h", "--min-pause '10001h' is no duration that can be kept: from 0ms to 10000h"),
        (
            "--tolerable-failed-checkpoints",
            "-1",
            "--tolerable-failed-checkpoints '-1' is no count: write a number from 0 to 1000",
        ),
        ("--tolerable-failed-checkpoints", "1001", "--tolerable-failed-checkpoints '1001' is no count"),
        ("--tolerable-failed-checkpoints", "many", "--tolerable-failed-checkpoints 'many' is no count"),
    ],
)
def test_limits_that_are_none_are_refused_by_their_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str, value: str, says: str
) -> None:
    assert code_of(EndsSoon(), monkeypatch, tmp_path, f"{option}={value}") == Exit.USAGE
    assert capsys.readouterr().err.startswith(f"weir: {says}")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_job_goes_on_to_its_end_though_nobody_hears_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setattr(progress_line, "PLAIN_EVERY_S", 0.0)
    monkeypatch.setattr(sys, "stderr", NobodyListens())
    running = EndsSoon(waits=3)
    assert code_of(running, monkeypatch, tmp_path, "--log-format", form) == Exit.OK
    assert running.waits == 0


def test_programs_are_told_how_it_has_ended_also_where_nothing_else_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(EndsSoon(), monkeypatch, tmp_path, "--quiet", "--output", "json") == Exit.OK
    said = capsys.readouterr()
    assert said.err == ""
    assert json.loads(said.out) == {
        "job": "small",
        "outcome": "finished",
        "reason": "",
        "kind": "",
        "records": 0,
        "checkpoints": 0,
        "last_checkpoint": None,
        "recovered_ms": [],
        "notes": [],
    }


def test_a_job_that_failed_is_told_to_programs_with_the_reason_and_the_exit_code_of_always(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = EndsSoon(replace(finished(), outcome=Outcome.FAILED, reason="sink 'out' is full", kind="SinkError"))
    assert code_of(failed, monkeypatch, tmp_path, "-o", "json") == Exit.JOB_FAILED
    said = capsys.readouterr()
    ended = json.loads(said.out)
    assert (ended["outcome"], ended["reason"], ended["kind"]) == ("failed", "sink 'out' is full", "SinkError")
    assert said.err == "job failed: sink 'out' is full\n"


def test_a_signal_suspends_though_nobody_hears_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", NobodyListens())
    running = EndsSoon()
    run.suspend_on_signals(running)  # type: ignore[arg-type]  # has what is used of a RunningJob
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
    assert running.asked == ["suspend", "cancel"]


@pytest.mark.parametrize("text", ["0s", "0.4ms", "0h", "1e3s", "-1s", "9" * 400 + "h"])
def test_a_duration_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no duration"):
        words.parse_duration_ms(text)


def test_durations_from_a_millisecond_on_are_taken() -> None:
    assert [words.parse_duration_ms(text) for text in ("1ms", "500ms", "10s", "1.5m", "1h")] == [
        1,
        500,
        10_000,
        90_000,
        3_600_000,
    ]


def test_a_secret_is_refused_as_an_argument() -> None:
    assert run.parse_spark_settings(["spark.authenticate=true", "spark.cores.max=4"]) == {
        "spark.authenticate": "true",
        "spark.cores.max": "4",
    }
    for name in ("spark.authenticate.secret", "spark.hadoop.fs.s3a.secret.key"):
        with pytest.raises(ConfigError, match=f"--conf {name}: .* WEIR_SPARK_CONF_FILE") as caught:
            run.parse_spark_settings([f"{name}=hush"])
        assert "hush" not in str(caught.value)


def test_to_break_off_the_question_is_to_say_no(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> bool:
        raise typer.Abort

    monkeypatch.setattr(typer, "confirm", interrupted)
    with pytest.raises(typer.Exit) as ended:
        questions.agree("Go back?")
    assert ended.value.exit_code == Exit.CANCELED


@pytest.mark.parametrize(
    ("history", "yes", "leaving"),
    [(3, False, {2, 3}), (1, False, set()), (3, True, None)],
)
def test_what_was_agreed_to_be_left_behind_is_handed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, history: int, yes: bool, leaving: set[int] | None
) -> None:
    log = JobLog(LocalStorage(tmp_path / "cp"), JobLayout("small"))
    log.append(GenerationStarted(Generation(1), None, "b1", CheckpointId(1), "n", 0), at=1)
    for one in range(1, history + 1):
        log.append(CheckpointCompleted(Generation(1), CheckpointId(one), "m", "c", 0, f"n{one}", 0), at=one + 1)
    monkeypatch.setattr(typer, "confirm", lambda *arguments, **options: True)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    started: list[RunOptions] = []
    running = EndsSoon()
    assert code_of(running, monkeypatch, tmp_path, "--from", "1", *(["--yes"] if yes else []), started=started) == Exit.OK
    assert started[0].start == FromCheckpoint(CheckpointId(1), None if leaving is None else frozenset(map(CheckpointId, leaving)))
