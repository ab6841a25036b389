"""Schemas of alert rules and alerts in API requests and responses."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, FiniteFloat, StringConstraints, TypeAdapter, model_validator

from weir_backend.jobs.schemas import ReasonCode
from weir_backend.kit.listing import BIGINT_MAX
from weir_backend.kit.schemas import RequestModel, ResponseModel, StorableText
from weir_backend.models import AlertKind, AlertRule, AlertState

COUNT_MAX = 100
"""The largest `count` of a rule."""
MINUTES_MAX = 1_440
RuleName = Annotated[StorableText, StringConstraints(pattern=r"^\S(.*\S)?$", max_length=100)]
Number = Annotated[int, Field(ge=1, le=BIGINT_MAX)]
Count = Annotated[int, Field(ge=1, le=COUNT_MAX)]
Minutes = Annotated[int, Field(ge=1, le=MINUTES_MAX)]


class NoCheckpointCondition(RequestModel):
    """No checkpoint has completed for `minutes` or for two checkpoint intervals of the job, whichever is longer. Time before the
    last start of the job, or before the control plane became available, does not count. The condition never holds for stopped or
    finished jobs, or for jobs that take no periodic checkpoints."""

    kind: Literal["no-checkpoint"]
    minutes: Minutes


class FailuresCondition(RequestModel):
    """The job has failed `count` times, or `count` of its checkpoints have failed, without a completed checkpoint in between. The condition also
    holds if Weir does not restart the job any more."""

    kind: Literal["failures"]
    count: Count


class LagCondition(RequestModel):
    """A source reports a `lag_records` above `records` or a `lag_seconds` above `seconds`, both now and a minute ago. Set at least one limit.
    `source` is the uid of the source; if it is null, the rule applies to every source."""

    kind: Literal["lag"]
    records: Number | None = None
    seconds: Annotated[FiniteFloat, Field(gt=0, le=1e9)] | None = None
    source: Annotated[StorableText, StringConstraints(min_length=1, max_length=200)] | None = None

    @model_validator(mode="after")
    def _some_limit(self) -> LagCondition:
        if self.records is None and self.seconds is None:
            raise ValueError("Set a limit: `records`, `seconds` or both.")
        return self


class RestartsCondition(RequestModel):
    """The job was restarted `count` times within `minutes`."""

    kind: Literal["restarts"]
    count: Count
    minutes: Minutes


RunningReason = Literal[
    ReasonCode.NO_CHECKPOINT,
    ReasonCode.FAILED_CHECKPOINTS,
    ReasonCode.SLOW_CHECKPOINTS,
    ReasonCode.NO_THROUGHPUT,
    ReasonCode.BOTTLENECK,
    ReasonCode.RESTARTS,
]


class HealthCondition(RequestModel):
    """The job is running and its health is `degraded` for `reason`. If `reason` is null, the rule applies to each of the allowed reasons."""

    kind: Literal["health"]
    reason: RunningReason | None = None


AnyCondition: TypeAlias = NoCheckpointCondition | FailuresCondition | LagCondition | RestartsCondition | HealthCondition
Condition: TypeAlias = Annotated[AnyCondition, Field(discriminator="kind")]
_CONDITION: TypeAdapter[AnyCondition] = TypeAdapter(Condition)


class AlertRuleCreate(RequestModel):
    """A rule to create. If `job_id` is null, the rule applies to all jobs. If `webhook_id` is null, no messages are sent."""

    name: RuleName
    job_id: Number | None = None
    condition: Condition
    webhook_id: Number | None = None
    enabled: bool = True


class AlertRuleUpdate(RequestModel):
    """Changes to a rule. Omitted fields keep their values. The kind of `condition` cannot change. If `webhook_id` is null, no more messages are
    sent."""

    name: RuleName | None = None
    condition: Condition | None = None
    webhook_id: Number | None = None
    enabled: bool | None = None


class AlertRuleRead(ResponseModel):
    id: int
    name: str
    job_id: int | None
    condition: Condition
    webhook_id: int | None
    enabled: bool
    version: int
    created_at: datetime

    @classmethod
    def of(cls, rule: AlertRule) -> AlertRuleRead:
        return cls.read(rule, condition=_CONDITION.validate_python({"kind": rule.kind.value, **rule.parameters}))


def parameters_of(condition: AnyCondition) -> dict[str, Any]:
    """Return the parameters of ``condition`` as the database stores them: as JSON, without ``kind``."""
    return condition.model_dump(mode="json", exclude={"kind"})


class AlertRead(ResponseModel):
    """A rule that holds, or has held, for a job. If the rule is deleted, `rule_id` is null. `resolution` says why the alert was resolved."""

    id: int
    rule_id: int | None
    rule_name: str
    kind: AlertKind
    job_id: int
    state: AlertState
    message: str
    since: datetime
    resolved_at: datetime | None
    resolution: str | None
