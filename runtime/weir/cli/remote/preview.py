"""What a plan would do, in lines for people. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from weir.cli.remote.shapes import Inspection, Job, Plan, Preview
from weir.cli.remote.telling import duration_text, harmless, time_of
from weir.cli.tables import size_text

SPLITS_SHOWN = 5
NUMBERS_SHOWN = 20
_WHAT = {"rollback": "Rollback", "undo": "Undo", "upgrade": "Upgrade", "rescale": "Rescale", "restore": "Restore"}


def preview_of(job: Job, plan: Plan) -> Iterator[str]:
    preview = plan["preview"]
    inspection = preview["inspection"]
    yield f"{_WHAT.get(plan['kind'], plan['kind'])} of job '{job['name']}' (plan {plan['id']})"
    if preview["checkpoint"] is not None:
        yield f"  goes on from {_checkpoint(preview, inspection)}"
    if preview["origin"] is not None:
        yield f"  goes on from a copy of {_elsewhere(preview['origin'], inspection)}"
    if preview["anew"]:
        yield "  begins anew, without any state: all input is read again"
    if inspection is not None:
        yield from _found(inspection)
    yield from _sinks(preview, inspection)
    for warning in preview["warnings"]:
        yield f"  warning: {harmless(warning)}"
    yield "  steps:"
    for number, step in enumerate(preview["steps"], 1):
        yield f"    {number}. {harmless(step)}"


def _checkpoint(preview: Preview, inspection: Inspection | None) -> str:
    kind = "savepoint" if preview["is_savepoint"] else "checkpoint"
    parts = [f"{kind} {preview['checkpoint']}"]
    if preview["completed_at"]:
        age = f", {duration_text(preview['age_s'])} old" if preview["age_s"] is not None else ""
        parts.append(f"completed {time_of(preview['completed_at'])} UTC{age}")
    if preview["state_bytes"] is not None:
        parts.append(f"{size_text(preview['state_bytes'])} of state")
    return "; ".join([*parts, *_verified(inspection)])


def _elsewhere(path: str, inspection: Inspection | None) -> str:
    found = inspection["origin"] if inspection is not None else None
    if found is None:
        return "; ".join([harmless(path), *_verified(inspection)])
    kind = "savepoint" if found["is_savepoint"] else "checkpoint"
    parts = [
        f"{kind} {found['checkpoint']} of job '{harmless(found['job'])}' in {harmless(path)}",
        f"completed {time_of(found['completed_at'])} UTC",
        f"{size_text(found['state_bytes'])} of state",
    ]
    return "; ".join([*parts, *_verified(inspection)])


def _verified(inspection: Inspection | None) -> Iterator[str]:
    if inspection is not None and inspection["whole"]:
        yield "verified: all of it is there"
    elif inspection is not None:
        yield f"DAMAGED: {harmless(inspection['damage'] or '')}"


def _found(inspection: Inspection) -> Iterator[str]:
    if inspection["abandoned"]:
        yield f"  abandons what was committed with: {_numbers(inspection['abandoned'])} (none is deleted; undo returns to them)"
    if inspection["returning"]:
        yield f"  shows again what was committed with: {_numbers(inspection['returning'])}"
    for source in inspection["sources"]:
        splits = source["splits"]
        yield f"  reads again from {harmless(source['source'])}: {len(splits)} unfinished {'split' if len(splits) == 1 else 'splits'}"
        for split in splits[:SPLITS_SHOWN]:
            yield f"    {harmless(_split(split))}"
        if len(splits) > SPLITS_SHOWN:
            yield f"    and {len(splits) - SPLITS_SHOWN} more"
    if inspection["misfit"] is not None:
        yield f"  DOES NOT FIT: {harmless(inspection['misfit'])}"
    for note in inspection["notes"]:
        yield f"  {harmless(note)}"


def _numbers(numbers: list[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:NUMBERS_SHOWN])
    more = f" and {len(numbers) - NUMBERS_SHOWN} more" if len(numbers) > NUMBERS_SHOWN else ""
    return f"checkpoints {shown}{more}" if len(numbers) > 1 else f"checkpoint {shown}"


def _split(split: Any) -> str:
    """As the runtime writes it: ``position`` null has not been begun."""
    if isinstance(split, dict) and "id" in split and "position" in split:
        position = split["position"]
        return f"{split['id']} from " + ("its beginning" if position is None else json.dumps(position))
    return json.dumps(split)


def _sinks(preview: Preview, inspection: Inspection | None) -> Iterator[str]:
    back = [sink["sink"] for sink in inspection["sinks"] if sink["revocable"]] if inspection is not None else []
    if back and (preview["checkpoint"] is not None or preview["origin"] is not None or preview["anew"]):
        yield f"  taken back from readers (an undo brings it back): {harmless(', '.join(back))}"
    if preview["duplicates"]:
        yield f"  cannot be taken back, readers will see these records twice: {harmless(', '.join(preview['duplicates']))}"
        yield from _twice(preview, inspection) if inspection is not None else ()


def _twice(preview: Preview, inspection: Inspection) -> Iterator[str]:
    """Which records these are. Of a plan that goes on from where the job is stopped a warning says so."""
    left, again = inspection["abandoned"], inspection.get("again", [])
    if left:
        yield f"    what was committed with {_numbers(left)}, and what is until the job is stopped"
    if again:
        yield f"    what was committed with {_numbers(again)}, as nobody knows whether it was handed on"
    for sink in inspection["sinks"]:
        records = sink.get("records")
        if sink["sink"] in preview["duplicates"] and records is not None and (left or again):
            yield f"    of {harmless(sink['sink'])}: {records} records by now"
