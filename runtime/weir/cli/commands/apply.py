"""``weir apply`` and ``weir diff -f``: apply job manifests, or show what would change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weir.cli.client.api import ApiClient, open_client
from weir.cli.client.errors import NotAllowed, OperationFailed, Refused
from weir.cli.client.schemas import FieldChange, ManifestResultRead
from weir.cli.commands.deploy import upload, wait_until_started
from weir.cli.commands.waiting import Deadline, apply_manifest
from weir.cli.exit_codes import Exit, exit_code_of
from weir.cli.logs import print_message
from weir.cli.options import TimeoutOption, timeout_s
from weir.cli.output import OutputFormat, OutputOption, print_json, sanitized
from weir.errors import WeirError

if TYPE_CHECKING:
    from weir.cli.manifest_files import JobManifest

FilesOption = Annotated[
    list[Path], typer.Option("--file", "-f", metavar="PATH", help="A job manifest, or a directory of manifests; repeatable.")
]
_TITLES = {
    "create": "create the job",
    "update": "update the description or the labels",
    "add-version": "add version {spec}, which does not run",
    "upgrade": "upgrade from version {spec_before} to {spec}",
    "start": "start the job",
    "suspend": "suspend the job",
}


def add_to(app: typer.Typer) -> None:
    app.command("apply")(apply)


def apply(
    files: FilesOption,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, but change no job. Exit code 2: changes, 0: no changes.")
    ] = False,
    comment: Annotated[str, typer.Option(help="Comment on new versions, such as a commit id.")] = "",
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until the jobs run. Exit with code 1 if a job does not start.")
    ] = False,
    timeout: TimeoutOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Create jobs from manifests, and change jobs that differ from their manifests.

    The command first checks all manifests. If a manifest is invalid, or if its code does not compile or cannot restore the state
    of its job, the command changes no job.
    """
    deadline = Deadline(timeout_s(timeout))
    if dry_run:
        with errors_are_failures(), open_client() as client:
            checked = _check_all(client, files, comment, deadline)
        _print(checked, output, _steps)
        end_dry_run(checked)
        return
    with open_client() as client:
        checked = _check_all(client, files, comment, deadline)
        failed = sum(outcome.error is not None for outcome in checked)
        if failed:
            _print(checked, output, _steps)
            raise Refused(f"{failed} of {len(checked)} job manifests cannot be applied. No job was changed.")
        applied = [_apply(client, outcome, comment, deadline) for outcome in checked]
        if wait:
            applied = [_wait(client, outcome, deadline) for outcome in applied]
    _print(applied, output, lambda _: iter(()))
    failed = sum(outcome.error is not None for outcome in applied)
    if failed:
        raise OperationFailed(f"{failed} of {len(applied)} jobs failed. The other jobs equal their manifests.")


def diff_manifests(files: Sequence[Path], output: OutputFormat) -> None:
    """Print the differences between jobs and their manifests: fields, operators and code."""
    with errors_are_failures(), open_client() as client:
        checked = _check_all(client, files, "", Deadline(None))
    _print(checked, output, _code)
    end_dry_run(checked)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result or the error of checking or applying a manifest.

    ``manifest`` is None if ``read_manifests`` has reported the manifest as invalid.
    """

    manifest: JobManifest | None = None
    result: ManifestResultRead | None = None
    error: Exception | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "file": str(self.manifest.source.path) if self.manifest is not None else None,
            "name": self.manifest.name if self.manifest is not None else None,
            "error": str(self.error) if self.error is not None else None,
            "result": self.result,
        }


@contextmanager
def errors_are_failures() -> Iterator[None]:
    """Raise OperationFailed instead of an error with exit code 2, because here exit code 2 means that there are changes."""
    try:
        yield
    except WeirError as error:
        if exit_code_of(error) is not Exit.CHANGES:
            raise
        raise OperationFailed(str(error)) from None


def end_dry_run(checked: Sequence[Outcome]) -> None:
    """Raise OperationFailed if a manifest cannot be applied; otherwise, raise typer.Exit if there are changes."""
    failed = sum(outcome.error is not None for outcome in checked)
    if failed:
        raise OperationFailed(f"{failed} of {len(checked)} job manifests cannot be applied.")
    if any(outcome.result is not None and outcome.result["actions"] for outcome in checked):
        raise typer.Exit(Exit.CHANGES)


# ---- the steps of one manifest -----------------------------------------------------------------


def _check_all(client: ApiClient, files: Sequence[Path], comment: str, deadline: Deadline) -> list[Outcome]:
    """Check the manifests in ``files``. Raises Refused if there are none."""
    from weir.cli.manifest_files import read_manifests

    manifests, errors = read_manifests(files)
    return [*(Outcome(error=error) for error in errors), *(_check(client, one, comment, deadline) for one in manifests)]


def _check(client: ApiClient, manifest: JobManifest, comment: str, deadline: Deadline) -> Outcome:
    """Apply the manifest in a dry run. The code must be uploaded first, because a worker compiles it."""
    return _attempt(manifest, None, lambda: _request(client, manifest, comment, deadline, dry_run=True))


def _apply(client: ApiClient, checked: Outcome, comment: str, deadline: Deadline) -> Outcome:
    manifest = checked.manifest
    assert manifest is not None, "invalid manifests are not applied"
    return _attempt(manifest, None, lambda: _request(client, manifest, comment, deadline, dry_run=False))


def _wait(client: ApiClient, applied: Outcome, deadline: Deadline) -> Outcome:
    """Wait until the job runs, if its desired state is RUNNING."""
    manifest, result = applied.manifest, applied.result
    if manifest is None or result is None or result["job"] is None:
        return applied
    job = result["job"]
    if manifest.fields.get("desired_state", "RUNNING") != "RUNNING":
        return applied

    def wait() -> ManifestResultRead:
        operation = wait_until_started(client, job, result["operation"] or job["operation"], deadline)
        return {**result, "operation": operation, "job": client.job(job["id"])}

    return _attempt(manifest, result, wait)


def _request(client: ApiClient, manifest: JobManifest, comment: str, deadline: Deadline, *, dry_run: bool) -> ManifestResultRead:
    upload(client, manifest.code)
    return apply_manifest(client, manifest.name, manifest.body(comment), deadline, dry_run=dry_run)


def _attempt(manifest: JobManifest, result: ManifestResultRead | None, step: Callable[[], ManifestResultRead]) -> Outcome:
    """Return the outcome of ``step``. An error of one job does not end the command.

    Raises NotAllowed, Unreachable, AbortedByUser.
    """
    try:
        return Outcome(manifest, step())
    except NotAllowed:
        raise
    except OperationFailed as error:
        return Outcome(manifest, result, manifest.source.error(str(error)))
    except Refused as error:
        return Outcome(manifest, result, manifest.source.error_of_fields(error.invalid or [("", str(error))]))


# ---- output ------------------------------------------------------------------------------------


def _print(outcomes: Sequence[Outcome], output: OutputFormat, details: Callable[[ManifestResultRead], Iterator[str]]) -> None:
    """Print all results to standard output, and all errors to standard error."""
    if output is OutputFormat.JSON:
        print_json({"jobs": [outcome.as_json() for outcome in outcomes]})
    else:
        for result in (outcome.result for outcome in outcomes if outcome.result is not None):
            for line in (*result_lines(result), *details(result)):
                typer.echo(sanitized(line))
    for outcome in outcomes:
        if outcome.error is not None:
            print_message(sanitized(str(outcome.error)))


def result_lines(result: ManifestResultRead) -> Iterator[str]:
    if not result["actions"]:
        yield f"{result['name']}: no changes"
        return
    numbers = {"spec": result["spec"], "spec_before": result["spec_before"]}
    yield f"{result['name']}: {', '.join(_TITLES.get(one, one).format(**numbers) for one in result['actions'])}"
    yield from map(_change_line, result["changes"])
    diff = result["diff"]
    if diff is not None:
        yield from (_change_line(change, "spec.") for change in diff["changes"] if change["path"] != "artifact")
        for what in ("added", "removed", "changed"):
            uids: list[str] = diff[f"operators_{what}"]  # type: ignore[literal-required]  # one of three lists
            if uids:
                yield f"  operators {what}: {', '.join(uids)}"
        if diff["code"] != "":
            yield "  code: changed"


def _change_line(change: FieldChange, prefix: str = "") -> str:
    before, after = (json.dumps(value) if value is not None else "not set" for value in (change["before"], change["after"]))
    return f"  {prefix}{change['path']}: {before} -> {after}"


def _steps(result: ManifestResultRead) -> Iterator[str]:
    plan = result["plan"]
    if plan is not None:
        yield from (f"  warning: {warning}" for warning in plan["preview"]["warnings"])
        yield from (f"  {number}. {step}" for number, step in enumerate(plan["preview"]["steps"], 1))


def _code(result: ManifestResultRead) -> Iterator[str]:
    if result["diff"] is not None and result["diff"]["code"]:
        yield result["diff"]["code"].rstrip("\n")
