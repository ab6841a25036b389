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

from weir.cli.exit_codes import CommandError, Exit


class NotConfigured(CommandError):
    def __init__(self) -> None:
        super().__init__("No platform is configured. Run weir up or weir login, or set WEIR_API_URL and WEIR_TOKEN.")


class Refused(CommandError):
    """``status`` is the status of the response and ``code`` the code of its problem. They are 0 and '' if no request was sent."""

    def __init__(self, message: str, *, status: int = 0, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class NotAllowed(Refused):
    exit = Exit.NOT_ALLOWED


class Unreachable(CommandError):
    exit = Exit.UNREACHABLE


class OperationFailed(CommandError):
    exit = Exit.JOB_FAILED


class AbortedByUser(CommandError):
    exit = Exit.CANCELED
