"""Why a command at a platform ends without having done what it was told.

CommandError
├── NoPlatform       nobody said where the platform is, or who is calling
├── Refused          the platform answered no, or what was asked for makes no sense
│   └── NotAllowed   it does not know who is calling, or he may not do this
├── Unreachable      it does not answer
├── OperationFailed  it tried, and failed; or it was not done in the time that we were to wait
└── Declined         somebody said no, or does not wait any longer
"""

from __future__ import annotations

from weir.cli.exits import CommandError, Exit


class NoPlatform(CommandError):
    def __init__(self) -> None:
        super().__init__("no platform is known: weir up, weir login, or set WEIR_API_URL and WEIR_TOKEN")


class Refused(CommandError):
    """``status`` of the answer and ``code`` of the problem; 0 and '' if we did not have to ask."""

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


class Declined(CommandError):
    exit = Exit.CANCELED
