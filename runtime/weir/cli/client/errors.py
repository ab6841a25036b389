"""Errors of commands that call a control plane.

CommandError
├── NotConfigured    no address or token is configured
├── Refused          the API refused the request, or the command's arguments are invalid
│   └── NotAllowed   the token is not valid, or its permissions do not allow the request
├── Unreachable      the API does not respond
├── OperationFailed  the operation failed, or did not end in time
└── AbortedByUser    the user answered no, or interrupted a wait
"""

from __future__ import annotations

from collections.abc import Sequence

from weir.cli.exit_codes import CommandError, Exit


class NotConfigured(CommandError):
    def __init__(self) -> None:
        super().__init__("No platform is configured. Run weir login --url ADDRESS, or set WEIR_API_URL and WEIR_TOKEN.")


class Refused(CommandError):
    """``status`` and ``code`` are the status and the code of the problem in the API's response. ``invalid`` contains the path and
    the problem of each invalid field of the request.

    If the error does not come from a response, ``status`` is 0 and ``code`` is ''.
    """

    def __init__(self, message: str, *, status: int = 0, code: str = "", invalid: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.invalid = invalid


class NotAllowed(Refused):
    exit = Exit.NOT_ALLOWED


class Unreachable(CommandError):
    exit = Exit.UNREACHABLE


class OperationFailed(CommandError):
    exit = Exit.JOB_FAILED


class AbortedByUser(CommandError):
    exit = Exit.CANCELED
