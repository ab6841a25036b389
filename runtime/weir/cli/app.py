"""The commands, their options and their exit codes."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from weir.cli.checkpointing import (
    CHECKPOINT_TIMEOUT,
    INTERVAL,
    MIN_PAUSE,
    RETAINED,
    TOLERABLE_FAILED_CHECKPOINTS,
    CheckpointTimeout,
    Interval,
    MinPause,
    Retained,
    TolerableFailedCheckpoints,
)
from weir.cli.exits import exit_of
from weir.cli.logs import LogFormat, complain, let_go_of_broken_streams, set_up
from weir.cli.output import JsonOption, Output, OutputOption, answer_to, print_json
from weir.cli.plugins import WithPlugins
from weir.errors import WeirError

app_ = typer.Typer(
    name="weir",
    cls=WithPlugins,
    help="Checkpointed streaming jobs inside Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Target = Annotated[str, typer.Argument(help="The job: FILE.py, FILE.py:function or package.module:function")]
Setting = Annotated[list[str], typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the job; may be repeated")]
Parallelism = Annotated[int, typer.Option(min=1, help="Slots, and subtasks of every operator that does not say otherwise")]
NO_SETTINGS: list[str] = []


@app_.command("run")
def run_command(
    target: Target,
    settings: Setting = NO_SETTINGS,
    parallelism: Parallelism = 2,
    master: Annotated[str, typer.Option(help="Spark master: local, spark://host:port, yarn, k8s://...")] = "local",
    checkpoint_dir: Annotated[
        str, typer.Option(help="Where checkpoints go: a directory, or s3://bucket/prefix, gs://..., abfss://...")
    ] = "weir-checkpoints",
    staging_dir: Annotated[
        str | None, typer.Option(help="Where rows of Spark queries are staged, if checkpoints are in an object store")
    ] = None,
    interval: Interval = INTERVAL,
    checkpoint_timeout: CheckpointTimeout = CHECKPOINT_TIMEOUT,
    min_pause: MinPause = MIN_PAUSE,
    tolerable_failed_checkpoints: TolerableFailedCheckpoints = TOLERABLE_FAILED_CHECKPOINTS,
    from_checkpoint: Annotated[
        int | None, typer.Option("--from", metavar="ID", min=0, help="Go back to this checkpoint; 0: to the beginning")
    ] = None,
    from_path: Annotated[
        str | None,
        typer.Option(
            "--from-path", metavar="PATH[#ID]", help="Begin with a copy of a checkpoint of any job; default: its newest"
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the newest checkpoint (of a driver that died, say)")
    ] = False,
    at_least: Annotated[
        int | None,
        typer.Option(
            metavar="ID", min=1, help="With --resume: begin nothing where the job has not come as far as this checkpoint"
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before something is abandoned")] = False,
    allow_non_restored_state: Annotated[
        bool, typer.Option("--allow-non-restored-state", help="Leave behind state of operators that the graph no longer has")
    ] = False,
    spares: Annotated[int, typer.Option(min=0, help="Warm slots kept ready beyond the parallelism")] = 0,
    retained: Retained = RETAINED,
    conf: Annotated[
        list[str], typer.Option("--conf", metavar="NAME=VALUE", help="A Spark setting; may be repeated")
    ] = NO_SETTINGS,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT[-LAST]",
            help="Serve metrics for Prometheus there, at the first port that is free, to who has the token in WEIR_METRICS_TOKEN",
        ),
    ] = None,
    log_format: Annotated[LogFormat, typer.Option(help="Logs for people or for machines")] = LogFormat.TEXT,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also what is only of interest when something is wrong")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only what went wrong")] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Run a job until it ends. SIGTERM or Ctrl-C stops it with a final checkpoint; go on with --resume.

    As JSON: how it has ended, once it has. What the job itself prints goes to standard error then.
    """
    logs = set_up(log_format, verbose=verbose)
    from weir.cli.link import take_link
    from weir.cli.metrics.server import take_options
    from weir.cli.run import parse_spark_settings, run, start_mode
    from weir.cli.words import parse_count, parse_duration_ms, parse_settings
    from weir.spark.launch import RunOptions

    options = RunOptions(
        checkpoint_dir=checkpoint_dir,
        parallelism=parallelism,
        master=master,
        interval_ms=None if interval == "none" else parse_duration_ms(interval, "--interval"),
        checkpoint_timeout_ms=parse_duration_ms(checkpoint_timeout, "--checkpoint-timeout"),
        min_pause_ms=parse_duration_ms(min_pause, "--min-pause", least_ms=0),
        tolerable_failed_checkpoints=parse_count(tolerable_failed_checkpoints, "--tolerable-failed-checkpoints"),
        start=start_mode(resume=resume, from_checkpoint=from_checkpoint, from_path=from_path, at_least=at_least),
        allow_non_restored_state=allow_non_restored_state,
        spares=spares,
        retained=retained,
        staging_dir=staging_dir,
        spark_conf=parse_spark_settings(conf),
        logs=logs,
    )
    link = take_link(os.environ)
    page = take_options(metrics, os.environ)
    params = parse_settings(settings, "--set")
    with answer_to(output) as answer:
        code = run(target, params, options, yes=yes, quiet=quiet, from_path=from_path, link=link, metrics=page, answer=answer)
    raise typer.Exit(code)


@app_.command("checkpoints")
def checkpoints_command(
    directory: Annotated[str, typer.Argument(help="The checkpoint directory or URL, or a job of the platform")],
    action: Annotated[str, typer.Argument(help="list, show ID, or verify [ID]")] = "list",
    checkpoint: Annotated[int | None, typer.Argument(metavar="ID")] = None,
    job: Annotated[str | None, typer.Option(help="Which job, where the directory holds several")] = None,
    retired: Annotated[bool, typer.Option("--retired", help="List those too that are gone")] = False,
    as_json: JsonOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """List the checkpoints of a job (as JSON all that ever were), show one, or verify that they are whole."""
    from weir.cli.remote import checkpoints as remote

    as_json = as_json or output is Output.JSON
    if job is None and remote.is_job(directory):
        remote.at_platform(directory, action, checkpoint, retired=retired, as_json=as_json)
        return

    from weir.cli import checkpoints
    from weir.errors import ConfigError
    from weir.protocol.ids import CheckpointId
    from weir.storage.open import open_storage

    storage = open_storage(directory)
    name = checkpoints.choose_job(storage, job)
    chosen = CheckpointId(checkpoint) if checkpoint is not None else None
    match action:
        case "list":
            checkpoints.show_list(storage, name, retired=retired, as_json=as_json)
        case "show" if chosen is not None:
            checkpoints.show_one(storage, name, chosen, as_json=as_json)
        case "show":
            raise ConfigError("which one? write: weir checkpoints DIRECTORY show ID")
        case "verify":
            raise typer.Exit(checkpoints.show_verification(storage, name, chosen, as_json=as_json))
        case _:
            raise ConfigError(f"'{action}' is none of list, show, verify")


@app_.command("graph")
def graph_command(
    target: Target,
    settings: Setting = NO_SETTINGS,
    parallelism: Parallelism = 2,
    as_json: JsonOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Draw a job's graph: operators, chains, how records are dealt out, which uids are derived. Runs nothing."""
    from weir.api.entry import load_job
    from weir.cli.words import parse_settings
    from weir.graph.compile import compile_graph
    from weir.graph.render import render
    from weir.protocol.codec import to_json
    from weir.spark.planner import LazySession

    with answer_to(Output.JSON if as_json else output) as answer:
        session = LazySession("local", parallelism, app_name=f"weir graph {target}", conf={})
        try:
            with session.planning():
                logical, _ = load_job(target, parse_settings(settings, "--set")).to_graph()
        finally:
            session.close()
        graph = compile_graph(logical, slots=parallelism)
        if answer is not None:
            print_json(to_json(graph), answer)
        else:
            typer.echo(render(graph), nl=False)


@app_.command("params")
def params_command(target: Target, output: OutputOption = Output.TEXT) -> None:
    """The parameters that a job takes, for --set."""
    from weir.api.entry import declared_params
    from weir.protocol.codec import to_json

    with answer_to(output) as answer:
        declared = declared_params(target)
        if answer is not None:
            print_json(to_json(declared), answer)
            return
    if declared.help:
        typer.echo(declared.help + "\n")
    for parameter in declared.parameters:
        value = "required" if parameter.required else f"default {parameter.default}"
        choices = f", one of {', '.join(parameter.choices)}" if parameter.choices else ""
        typer.echo(f"  --set {parameter.name}=<{parameter.type}>  ({value}{choices})  {parameter.help}".rstrip())
    if declared.incomplete:
        typer.echo(f"there may be more: {declared.incomplete}")


def app() -> None:
    """One clear message for whatever is wrong, never a traceback for what a user can mend."""
    try:
        app_()
    except WeirError as error:
        complain(str(error))
        raise SystemExit(exit_of(error)) from None
    finally:
        let_go_of_broken_streams()
