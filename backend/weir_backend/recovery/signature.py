"""The signature of a plan. The signature covers the content of the plan and the version of the job, so that Weir applies exactly the plan that was
approved."""

from __future__ import annotations

import hashlib
import hmac
import json

from weir_backend.models import RecoveryPlan


def sign(plan: RecoveryPlan, key: str) -> bytes:
    signed = [plan.job_id, plan.kind.value, plan.job_version, plan.request, plan.preview, plan.undo_of]
    text = json.dumps(signed, sort_keys=True, separators=(",", ":"), default=str)
    return hmac.digest(key.encode(), text.encode(), hashlib.sha256)


def is_signed(plan: RecoveryPlan, key: str) -> bool:
    return hmac.compare_digest(plan.signature, sign(plan, key))
