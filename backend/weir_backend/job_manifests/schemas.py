"""Job manifests as the API accepts them, and the results of applying them."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from weir_backend.jobs.schemas import FieldChange, JobRead, Labels, OperationRead, SpecDiffRead
from weir_backend.jobs.spec import JobSpec
from weir_backend.kit.schemas import LongText, RequestModel, ResponseModel
from weir_backend.models import DesiredState
from weir_backend.recovery.schemas import PlanRead


class JobManifest(RequestModel):
    """The declaration of a job. An omitted field has its default value, even if the job has a different value now. If `description` or `labels` is
    null, the job keeps its value.

    If `spec` differs from the spec of an existing job, the effect depends on `desired_state`. If `desired_state` is RUNNING, Weir applies an upgrade
    with the mode `upgrade_mode` at once. If `desired_state` is SUSPENDED, the changed spec becomes a new version, which runs when the desired state
    is RUNNING again. If `desired_state` is null, the changed spec becomes a new version, and the job continues as before. `comment` describes the new
    version, if there is one."""

    description: LongText | None = ""
    labels: Labels | None = {}
    desired_state: Literal[DesiredState.RUNNING, DesiredState.SUSPENDED] | None = DesiredState.RUNNING
    spec: JobSpec
    upgrade_mode: Literal["savepoint", "last-state"] = "savepoint"
    comment: LongText = ""


class ManifestAction(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    """Change the description or the labels."""
    ADD_VERSION = "add-version"
    """Add a version to the spec, but do not run the version."""
    UPGRADE = "upgrade"
    START = "start"
    SUSPEND = "suspend"


class ManifestResultRead(ResponseModel):
    """The changes that a manifest has made, or would make in a dry run. If `actions` is empty, the job already equals the manifest.

    `changes` contains the changed fields of the job. `spec` is the number of the version with the spec of the manifest, and `spec_before` is the
    number of the version that the job had before. `diff` compares these two versions. `diff` is null if they are equal, or if the job is new.
    `plan` is the plan of an upgrade; its `id` is null in a dry run. `operation` is the operation that starts, upgrades or suspends the job. `job`
    and `operation` are null in a dry run."""

    name: str
    dry_run: bool
    actions: list[ManifestAction]
    changes: list[FieldChange]
    spec: int
    spec_before: int | None
    diff: SpecDiffRead | None
    plan: PlanRead | None
    operation: OperationRead | None
    job: JobRead | None
