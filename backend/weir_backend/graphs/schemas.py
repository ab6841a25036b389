"""Names of operators in answers."""

from __future__ import annotations

from weir_backend.kit.schemas import ResponseModel


class OperatorNameRead(ResponseModel):
    uid: str
    name: str
