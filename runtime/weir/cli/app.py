"""The commands that run a job or read checkpoint storage, and the entry point of ``weir``."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from weir.cli import options
from weir.cli.exit_codes import exit_code_of
from weir.cli.extras import installed_version, require_runtime
from weir.cli.logs import LogFormat, discard_broken_streams, print_error, set_up_logs
from weir.cli.output import JsonOption, OutputFormat, OutputOption, print_json, result_stream
from weir.cli.plugins import PluginGroup
from weir.errors import WeirError
from weir.kernel.config import parse_duration_ms
from weir.protocol.events import RecoveryStrategy

app_ = typer.Typer(
    name="weir",
    cls=PluginGroup,
    help="Checkpointed streaming jobs inside Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Target = Annotated[str, typer.Argument(help="Job: FILE.py, FILE.py:function or package.module:function.")]


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"weir {installed_version()}")
        raise typer.Exit


@app_.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None: ...


@app_.command("run")
def run_command(
    target: Target,
    params: options.ParamsOption = options.NO_PAIRS,
    parallelism: options.ParallelismOption = 2,
    master: options.MasterOption = "local",
    checkpoint_dir: Annotated[
        str, typer.Option(help="Checkpoint storage: a directory, or s3://bucket/prefix, gs://..., abfss://...")
    ] = "weir-checkpoints",
    staging_dir: options.StagingDirOption = None,
    interval: options.IntervalOption = options.INTERVAL,
    checkpoint_timeout: options.CheckpointTimeoutOption = options.CHECKPOINT_TIMEOUT,
    min_pause: options.MinPauseOption = options.MIN_PAUSE,
    tolerable_failed_checkpoints: options.TolerableFailedCheckpointsOption = options.TOLERABLE_FAILED_CHECKPOINTS,
    heartbeat_timeout: options.HeartbeatTimeoutOption = options.TIMEOUTS["heartbeat"],
    stuck_timeout: options.StuckTimeoutOption = options.TIMEOUTS["stuck"],
    call_timeout: options.CallTimeoutOption = options.TIMEOUTS["call"],
    slots_timeout: options.SlotsTimeoutOption = options.TIMEOUTS["slots"],
    deploy_timeout: options.DeployTimeoutOption = options.TIMEOUTS["deploy"],
    cancel_timeout: options.CancelTimeoutOption = options.TIMEOUTS["cancel"],
    connect_timeout: options.ConnectTimeoutOption = options.TIMEOUTS["connect"],
    network_memory: options.NetworkMemoryOption = options.NETWORK_MEMORY,
    buffer_timeout: options.BufferTimeoutOption = options.BUFFER_TIMEOUT,
    recovery: options.RecoveryOption = RecoveryStrategy.REGIONAL,
    from_checkpoint: Annotated[
        int | None, typer.Option("--from", metavar="ID", min=0, help="Roll back to this checkpoint. 0 starts without state.")
    ] = None,
    from_path: Annotated[
        str | None,
        typer.Option(
            "--from-path",
            metavar="PATH[#ID]",
            help="Start from a copy of a checkpoint of any job. Default ID: the newest checkpoint of the current branch.",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume from the newest checkpoint.")] = False,
    at_least: Annotated[
        int | None, typer.Option(metavar="ID", min=1, help="With --resume, fail if the newest checkpoint is older than ID.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Abandon checkpoints without asking for confirmation.")] = False,
    allow_non_restored_state: options.AllowNonRestoredStateOption = False,
    revoke_unknown_output: options.RevokeUnknownOutputOption = False,
    spares: options.SparesOption = 0,
    retained: options.RetainedOption = options.RETAINED,
    conf: options.SparkConfOption = options.NO_PAIRS,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT[-LAST]",
            help="Serve Prometheus metrics on the first free port. Clients must send the token of WEIR_METRICS_TOKEN.",
        ),
    ] = None,
    log_format: Annotated[LogFormat, typer.Option(help="Format of standard error.")] = LogFormat.TEXT,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log debug messages.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Run a job until its input ends. SIGTERM or Ctrl-C stops the job with a final checkpoint. To continue the job, add --resume.

    With --output json, the result is printed when the job has ended, and output of the job's own code goes to standard error.
    """
    require_runtime()
    logs = set_up_logs(log_format, verbose=verbose)
    from weir.cli.metrics import take_metrics_options
    from weir.cli.run import parse_spark_conf, run, start_mode, take_link_options, take_platform_secrets
    from weir.spark.launch import RunOptions

    run_options = RunOptions(
        checkpoint_dir=checkpoint_dir,
        parallelism=parallelism,
        master=master,
        interval_ms=None if interval == "none" else parse_duration_ms(interval, "--interval"),
        checkpoint_timeout_ms=parse_duration_ms(checkpoint_timeout, "--checkpoint-timeout"),
        min_pause_ms=parse_duration_ms(min_pause, "--min-pause", least_ms=0),
        tolerable_failed_checkpoints=options.parse_count(tolerable_failed_checkpoints, "--tolerable-failed-checkpoints"),
        timeouts=options.parse_timeouts(
            {
                "heartbeat": heartbeat_timeout,
                "stuck": stuck_timeout,
                "call": call_timeout,
                "slots": slots_timeout,
                "deploy": deploy_timeout,
                "cancel": cancel_timeout,
                "connect": connect_timeout,
            }
        ),
        network_bytes=options.parse_network_memory(network_memory),
        buffer_timeout_ms=options.parse_buffer_timeout(buffer_timeout),
        recovery=recovery,
        start=start_mode(
            resume=resume,
            from_checkpoint=from_checkpoint,
            from_path=from_path,
            at_least=at_least,
            older_allowed=revoke_unknown_output,
        ),
        allow_non_restored_state=allow_non_restored_state,
        revoke_unknown_output=revoke_unknown_output,
        spares=spares,
        retained=retained,
        staging_dir=staging_dir,
        spark_conf=parse_spark_conf(conf),
        logs=logs,
    )
    secrets = take_platform_secrets(os.environ)
    link = take_link_options(os.environ)
    metrics_options = take_metrics_options(metrics, os.environ)
    job_params = options.parse_pairs(params, "--set")
    with result_stream(output) as result:
        code = run(
            target,
            job_params,
            run_options,
            yes=yes,
            quiet=quiet,
            from_path=from_path,
            link=link,
            metrics=metrics_options,
            result=result,
            secrets=secrets,
        )
    raise typer.Exit(code)


@app_.command("checkpoints")
def checkpoints_command(
    directory: Annotated[str, typer.Argument(metavar="DIR|JOB", help="Checkpoint directory or URL, or a job of the platform.")],
    action: Annotated[str, typer.Argument(help="list, show ID, or verify [ID].")] = "list",
    checkpoint: Annotated[int | None, typer.Argument(metavar="ID")] = None,
    job: Annotated[str | None, typer.Option(help="Name of the job, if the directory contains several jobs.")] = None,
    retired: Annotated[bool, typer.Option("--retired", help="Also list checkpoints whose files are deleted.")] = False,
    as_json: JsonOption = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """List the checkpoints of a job, show one checkpoint, or verify checkpoint files.

    The JSON output of list always includes retired checkpoints.
    """
    from weir.cli.commands import checkpoints as platform_checkpoints

    as_json = as_json or output is OutputFormat.JSON
    if job is None and platform_checkpoints.is_job(directory):
        platform_checkpoints.run_action(directory, action, checkpoint, retired=retired, as_json=as_json)
        return
    require_runtime()
    from weir.cli import checkpoints

    code = checkpoints.run_action(directory, job, action, checkpoint, retired=retired, as_json=as_json)
    raise typer.Exit(code)


@app_.command("graph")
def graph_command(
    target: Target,
    params: options.ParamsOption = options.NO_PAIRS,
    parallelism: options.ParallelismOption = 2,
    as_json: JsonOption = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Show a job's operators, chains, partitioning and generated uids, without running the job."""
    require_runtime()
    from weir.api.job_loader import load_job
    from weir.graph.compile import compile_graph
    from weir.graph.render import render
    from weir.protocol.codec import to_json
    from weir.spark.session import LazySession

    with result_stream(OutputFormat.JSON if as_json else output) as result:
        session = LazySession("local", parallelism, app_name=f"weir graph {target}", conf={})
        try:
            with session.planning():
                logical, _ = load_job(target, options.parse_pairs(params, "--set")).to_graph()
        finally:
            session.close()
        graph = compile_graph(logical, slots=parallelism)
        if result is not None:
            print_json(to_json(graph), result)
        else:
            typer.echo(render(graph), nl=False)


@app_.command("params")
def params_command(target: Target, output: OutputOption = OutputFormat.TEXT) -> None:
    """List the parameters of a job. To set a parameter, use the option --set of weir run or weir deploy."""
    require_runtime()
    from weir.api.job_loader import declared_params
    from weir.protocol.codec import to_json

    with result_stream(output) as result:
        declared = declared_params(target)
        if result is not None:
            print_json(to_json(declared), result)
            return
    if declared.help:
        typer.echo(declared.help + "\n")
    for parameter in declared.parameters:
        value = "required" if parameter.required else f"default {parameter.default}"
        choices = f", one of {', '.join(parameter.choices)}" if parameter.choices else ""
        typer.echo(f"  --set {parameter.name}=<{parameter.type}>  ({value}{choices})  {parameter.help}".rstrip())
    if declared.incomplete:
        typer.echo(f"This list may be incomplete: {declared.incomplete}")


def app() -> None:
    """Run the command in sys.argv. Print a WeirError as one message, without a traceback."""
    try:
        app_()
    except WeirError as error:
        print_error(str(error))
        raise SystemExit(exit_code_of(error)) from None
    finally:
        discard_broken_streams()
