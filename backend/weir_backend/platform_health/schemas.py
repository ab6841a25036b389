"""The health of the platform."""

from __future__ import annotations

from datetime import datetime

from weir_backend.kit.schemas import ResponseModel
from weir_backend.platform_health.monitor import Component, ComponentStatus


class ComponentHealthRead(ResponseModel):
    """The health of a component. `detail` and `next_step` are sentences. `up_at` is the last time at which this API process has found the component
    up, or null. A component is `unknown` if its check needs another component, which is down."""

    component: Component
    status: ComponentStatus
    detail: str
    next_step: str
    up_at: datetime | None


class PlatformHealthRead(ResponseModel):
    """The health of the platform. `components` contains all components, always in the same order."""

    components: list[ComponentHealthRead]
