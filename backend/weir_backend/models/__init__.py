"""All tables. Alembic finds all tables by importing this package."""

# mypy: implicit-reexport
# Every name that this module imports is a public name of the module.

from weir_backend.models.accounts import AuditEntry, IdempotencyKey, Role, Token, TokenKind, User
from weir_backend.models.alerts import (
    Alert,
    AlertKind,
    AlertRule,
    AlertState,
    Delivery,
    DeliveryState,
    MessageKind,
    Webhook,
    WebhookEvent,
    WebhookFormat,
)
from weir_backend.models.base import Base
from weir_backend.models.checkpoints import Checkpoint, CheckpointPin, CheckpointState, PinHolder, Verification
from weir_backend.models.heartbeats import Heartbeat
from weir_backend.models.jobs import Artifact, ArtifactContent, ArtifactKind, DesiredState, Graph, Job, Spec, SpecCheck, SpecState
from weir_backend.models.operations import (
    Operation,
    OperationKind,
    OperationState,
    PlanKind,
    PlanPhase,
    PlanState,
    RecoveryPlan,
)
from weir_backend.models.runs import Command, Event, Failure, MetricSample, Run, RunState
from weir_backend.models.secrets import Secret
