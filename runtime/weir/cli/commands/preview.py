"""Formats the preview of a plan as text. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from weir.cli.client.schemas import JobRead, PlanInspection, PlanPreview, PlanRead
from weir.cli.output import duration_text, sanitized, size_text, time_of

SPLITS_MAX = 5
NUMBERS_MAX = 20
_TITLES = {"rollback": "Roll back", "undo": "Undo a plan of", "upgrade": "Upgrade", "rescale": "Rescale", "restore": "Restore"}


def preview_lines(job: JobRead, plan: PlanRead) -> Iterator[str]:
    preview = plan["preview"]
    inspection = preview["inspection"]
    yield f"{_TITLES.get(plan['kind'], plan['kind'])} job '{job['name']}' (plan {plan['id']})"
    if preview["checkpoint"] is not None:
        yield f"  restores {_checkpoint(preview, inspection)}"
    if preview["path"] is not None:
        yield f"  restores a copy of {_imported_checkpoint(preview['path'], inspection)}"
    if preview["without_state"]:
        yield "  starts without state: all input is read again"
    if inspection is not None:
        yield from _inspection_lines(inspection)
    yield from _sink_lines(preview, inspection)
    for warning in preview["warnings"]:
        yield f"  warning: {sanitized(warning)}"
    yield "  steps:"
    for number, step in enumerate(preview["steps"], 1):
        yield f"    {number}. {sanitized(step)}"


def _checkpoint(preview: PlanPreview, inspection: PlanInspection | None) -> str:
    kind = "savepoint" if preview["is_savepoint"] else "checkpoint"
    parts = [f"{kind} {preview['checkpoint']}"]
    if preview["completed_at"]:
        age = f", {duration_text(preview['age_s'])} old" if preview["age_s"] is not None else ""
        parts.append(f"completed {time_of(preview['completed_at'])} UTC{age}")
    if preview["state_bytes"] is not None:
        parts.append(f"{size_text(preview['state_bytes'])} of state")
    return "; ".join([*parts, *_verification(inspection)])


def _imported_checkpoint(path: str, inspection: PlanInspection | None) -> str:
    external = inspection["external_checkpoint"] if inspection is not None else None
    if external is None:
        return "; ".join([sanitized(path), *_verification(inspection)])
    kind = "savepoint" if external["is_savepoint"] else "checkpoint"
    parts = [
        f"{kind} {external['checkpoint']} of job '{sanitized(external['job'])}' in {sanitized(path)}",
        f"completed {time_of(external['completed_at'])} UTC",
        f"{size_text(external['state_bytes'])} of state",
    ]
    return "; ".join([*parts, *_verification(inspection)])


def _verification(inspection: PlanInspection | None) -> Iterator[str]:
    if inspection is not None and inspection["intact"]:
        yield "verified"
    elif inspection is not None:
        yield f"CANNOT BE RESTORED: {sanitized(inspection['damage'] or '')}"


def _inspection_lines(inspection: PlanInspection) -> Iterator[str]:
    if inspection["abandoned"]:
        yield f"  abandons {_numbers(inspection['abandoned'])} (not deleted; an undo returns to the abandoned checkpoints)"
    if inspection["reinstated"]:
        yield f"  reinstates the output of {_numbers(inspection['reinstated'])}"
    for source in inspection["sources"]:
        splits = source["splits"]
        yield f"  replays {sanitized(source['source'])}: {len(splits)} unfinished {'split' if len(splits) == 1 else 'splits'}"
        for split in splits[:SPLITS_MAX]:
            yield f"    {sanitized(_split(split))}"
        if len(splits) > SPLITS_MAX:
            yield f"    and {len(splits) - SPLITS_MAX} more"
    if inspection["incompatibility"] is not None:
        yield f"  NOT COMPATIBLE: {sanitized(inspection['incompatibility'])}"
    for note in inspection["notes"]:
        yield f"  {sanitized(note)}"


def _numbers(numbers: list[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:NUMBERS_MAX])
    more = f" and {len(numbers) - NUMBERS_MAX} more" if len(numbers) > NUMBERS_MAX else ""
    return f"checkpoints {shown}{more}" if len(numbers) > 1 else f"checkpoint {shown}"


def _split(split: Any) -> str:
    """Return a source's split as text. ``split`` is the JSON value of the split.

    The ``position`` of a split is None if no record was read from the split.
    """
    if isinstance(split, dict) and "id" in split and "position" in split:
        position = split["position"]
        return f"{split['id']} from " + ("the beginning" if position is None else json.dumps(position))
    return json.dumps(split)


def _sink_lines(preview: PlanPreview, inspection: PlanInspection | None) -> Iterator[str]:
    revocable = [sink["sink"] for sink in inspection["sinks"] if sink["revocable"]] if inspection is not None else []
    if revocable and (preview["checkpoint"] is not None or preview["path"] is not None or preview["without_state"]):
        yield f"  revokes output in: {sanitized(', '.join(revocable))} (an undo reinstates it)"
    if preview["sinks_with_duplicates"]:
        yield f"  cannot revoke output in: {sanitized(', '.join(preview['sinks_with_duplicates']))} (readers can see records twice)"
        yield from _duplicate_lines(preview, inspection) if inspection is not None else ()


def _duplicate_lines(preview: PlanPreview, inspection: PlanInspection) -> Iterator[str]:
    """Describe the records that readers see twice.

    These records include the output that a running job commits before the plan stops the job.
    """
    abandoned, recommitted = inspection["abandoned"], inspection.get("recommitted", [])
    if abandoned:
        yield f"    output of {_numbers(abandoned)}, and output committed until the job stops"
    if recommitted:
        yield f"    output of {_numbers(recommitted)}, if it was already published"
    for sink in inspection["sinks"]:
        records = sink.get("records")
        if sink["sink"] in preview["sinks_with_duplicates"] and records is not None and (abandoned or recommitted):
            yield f"    {sanitized(sink['sink'])}: {records} records so far"
