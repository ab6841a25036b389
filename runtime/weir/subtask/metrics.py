"""The metrics of a slot's subtasks, as sent to the coordinator."""

from __future__ import annotations

import math

from weir.operators.base import Operator
from weir.protocol import codec
from weir.protocol.messages import SlotMetrics, SubtaskMetrics
from weir.protocol.snapshots import JsonValue
from weir.subtask.deployment import SlotDeployment
from weir.subtask.subtask import SubtaskRuntime


def slot_metrics(deployment: SlotDeployment, *, rss_bytes: int, loop_busy_ns: int) -> SlotMetrics:
    gauges: dict[str, JsonValue] = {}
    for runtime in deployment.subtasks:
        for operator in runtime.chain.operators:
            gauges |= _gauges(operator)
    return SlotMetrics(
        generation=deployment.generation,
        slot=deployment.message.slot,
        rss_bytes=rss_bytes,
        loop_busy_us=loop_busy_ns // 1_000,
        subtasks=tuple(_subtask_metrics(runtime) for runtime in deployment.subtasks),
        gauges=gauges,
    )


def _gauges(operator: Operator) -> dict[str, JsonValue]:
    """Return the operator's gauges for display. A gauge that fails or is not a finite number is left out."""
    try:
        return {
            f"{operator.context.uid}.{name}": codec.to_json(value)
            for name, value in operator.gauges().items()
            if math.isfinite(value)
        }
    except Exception:  # noqa: BLE001  # a failing gauge must not fail the subtask
        return {}


def _subtask_metrics(runtime: SubtaskRuntime) -> SubtaskMetrics:
    return SubtaskMetrics(
        chain=runtime.subtask.chain,
        index=runtime.subtask.index,
        records_in=runtime.records_in,
        records_out=runtime.outputs.records,
        bytes_in=runtime.bytes_in,
        bytes_out=runtime.outputs.bytes,
        busy_us=runtime.account.busy_ns // 1_000,
        idle_us=runtime.account.idle_ns // 1_000,
        backpressured_us=runtime.account.backpressured_ns // 1_000,
        queued_us=runtime.account.queued_ns // 1_000,
    )
