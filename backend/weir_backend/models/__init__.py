"""All tables. Alembic imports only this package of the backend."""

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
)
from weir_backend.models.base import Base
from weir_backend.models.checkpoints import Checkpoint, CheckpointState, Verification
from weir_backend.models.heartbeats import Heartbeat
from weir_backend.models.jobs import Artifact, ArtifactContent, ArtifactKind, DesiredState, Graph, Job, Spec, SpecState
from weir_backend.models.operations import (
    Operation,
    OperationKind,
    OperationState,
    PlanKind,
    PlanPhase,
    PlanState,
    RecoveryPlan,
)
from weir_backend.models.runs import RECOVERED, Command, Event, Failure, MetricSample, Run, RunState

__all__ = [
    "RECOVERED",
    "Alert",
    "AlertKind",
    "AlertRule",
    "AlertState",
    "Artifact",
    "ArtifactContent",
    "ArtifactKind",
    "AuditEntry",
    "Base",
    "Checkpoint",
    "CheckpointState",
    "Command",
    "Delivery",
    "DeliveryState",
    "DesiredState",
    "Event",
    "Failure",
    "Graph",
    "Heartbeat",
    "IdempotencyKey",
    "Job",
    "MessageKind",
    "MetricSample",
    "Operation",
    "OperationKind",
    "OperationState",
    "PlanKind",
    "PlanPhase",
    "PlanState",
    "RecoveryPlan",
    "Role",
    "Run",
    "RunState",
    "Spec",
    "SpecState",
    "Token",
    "TokenKind",
    "User",
    "Verification",
    "Webhook",
]
