"""What is said of rules and alerts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, FiniteFloat, StringConstraints, TypeAdapter, model_validator

from weir_backend.kit.forms import Form, KeptText, Shown
from weir_backend.kit.listing import BIGINT_MAX
from weir_backend.models import AlertKind, AlertRule, AlertState

COUNT_MAX = 100
"""What is counted for a rule is counted up to here."""
MINUTES_MAX = 1_440
RuleName = Annotated[KeptText, StringConstraints(pattern=r"^\S(.*\S)?$", max_length=100)]
Number = Annotated[int, Field(ge=1, le=BIGINT_MAX)]
Count = Annotated[int, Field(ge=1, le=COUNT_MAX)]
Minutes = Annotated[int, Field(ge=1, le=MINUTES_MAX)]


class NoCheckpointCondition(Form):
    """No checkpoint has completed for `minutes`, or for two of the job's own intervals if that is longer. Not of jobs that are stopped or
    finished, that were started later than that, or that take no checkpoints by themselves; nor while the control plane itself has not
    been there for as long."""

    kind: Literal["no-checkpoint"]
    minutes: Minutes


class FailuresCondition(Form):
    """The job has failed `count` times, or `count` checkpoints have, without a completed checkpoint in between; or it was given up, after
    however many failures."""

    kind: Literal["failures"]
    count: Count


class LagCondition(Form):
    """A source (`source`: its uid; null: any) tells by the gauge `lag_records` or `lag_seconds` that it is further behind than this, now and
    a minute ago. At least one of both limits."""

    kind: Literal["lag"]
    records: Number | None = None
    seconds: Annotated[FiniteFloat, Field(gt=0, le=1e9)] | None = None
    source: Annotated[KeptText, StringConstraints(min_length=1, max_length=200)] | None = None

    @model_validator(mode="after")
    def _some_limit(self) -> LagCondition:
        if self.records is None and self.seconds is None:
            raise ValueError("say how far behind is too far: records, seconds or both")
        return self


class RestartsCondition(Form):
    """The job was restarted `count` times within `minutes`."""

    kind: Literal["restarts"]
    count: Count
    minutes: Minutes


AnyCondition: TypeAlias = NoCheckpointCondition | FailuresCondition | LagCondition | RestartsCondition
Condition: TypeAlias = Annotated[AnyCondition, Field(discriminator="kind")]
_CONDITION: TypeAdapter[AnyCondition] = TypeAdapter(Condition)


class RuleDraft(Form):
    """`job_id` null: for all jobs. `webhook_id` null: alerts are shown, and nobody is sent a message."""

    name: RuleName
    job_id: Number | None = None
    condition: Condition
    webhook_id: Number | None = None
    enabled: bool = True


class RuleChange(Form):
    """What is left out stays. `condition`: of the same kind. `webhook_id` null: none any more."""

    name: RuleName | None = None
    condition: Condition | None = None
    webhook_id: Number | None = None
    enabled: bool | None = None


class RuleShown(Shown):
    id: int
    name: str
    job_id: int | None
    condition: Condition
    webhook_id: int | None
    enabled: bool
    version: int
    created_at: datetime

    @classmethod
    def of(cls, rule: AlertRule) -> RuleShown:
        return cls(
            id=rule.id,
            name=rule.name,
            job_id=rule.job_id,
            condition=_CONDITION.validate_python({"kind": rule.kind.value, **rule.parameters}),
            webhook_id=rule.webhook_id,
            enabled=rule.enabled,
            version=rule.version,
            created_at=rule.created_at,
        )


def parameters_of(condition: AnyCondition) -> dict[str, Any]:
    """As they are kept."""
    return condition.model_dump(mode="json", exclude={"kind"})


class AlertShown(Shown):
    """A rule that holds for a job, or did. `rule_id` null: the rule has been deleted since. `resolution`: why it is over."""

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
