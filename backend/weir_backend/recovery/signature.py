"""The signature and the digest of a plan. Both cover the content of the plan, which includes the results of its inspection, and the version of the
job. The signature shows that only Weir has written the plan. The digest identifies the preview that a user has seen, so that Weir approves and
applies exactly this preview."""

from __future__ import annotations

import hashlib
import hmac
import json

from weir_backend.models import RecoveryPlan


def sign(plan: RecoveryPlan, key: str) -> bytes:
    return hmac.digest(key.encode(), _content(plan), hashlib.sha256)


def is_signed(plan: RecoveryPlan, key: str) -> bool:
    return hmac.compare_digest(plan.signature, sign(plan, key))


def digest_of(plan: RecoveryPlan) -> str:
    return hashlib.sha256(_content(plan)).hexdigest()


def _content(plan: RecoveryPlan) -> bytes:
    content = [plan.job_id, plan.kind.value, plan.job_version, plan.request, plan.preview, plan.undo_of]
    return json.dumps(content, sort_keys=True, separators=(",", ":"), default=str).encode()
