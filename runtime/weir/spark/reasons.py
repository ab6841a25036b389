"""The one line of a Spark exception that says what is wrong; the rest is Java's stack."""

from __future__ import annotations

import re

_RAISED = re.compile(r"[\w.]*(Error|Exception|Interrupt|Exit)\b(:|$)")


def gist(error: Exception) -> str:
    """Of a Python traceback the last line (what was raised), of anything else the first."""
    java = getattr(error, "java_exception", None)
    message = str(error) if java is None else str(java.getMessage())
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line)]
    if "Traceback (most recent call last)" in message and raised:
        return raised[-1]
    first = lines[0] if lines else "no reason given"
    # Which task failed how often is of no interest: what failed is.
    return re.sub(r"^Job aborted due to stage failure: .* \(TID \d+\) \([^)]*\): ", "", first)
