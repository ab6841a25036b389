"""Limit the number of open event streams, and end a stream when its token becomes invalid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import structlog
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from weir_backend.errors import TooMany
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.notifications import ACCOUNTS, Notifications, Subscription
from weir_backend.models import Token, User

log = structlog.get_logger(__name__)
CHECK_INTERVAL_S = 5.0
"""The time between two checks of the tokens of open streams. The checks are periodic, because no notification is sent when a token expires, and
because notifications can be lost."""
RETRY_AFTER_S = 30
CLOSED = "closed"
"""The key that a subscription receives when its stream must end."""


class Subscriber:
    """One open stream. If ``closed`` is set, the stream must end."""

    def __init__(self, token_id: int) -> None:
        self.token_id = token_id
        self.closed = False
        self._subscription: Subscription | None = None

    def attach(self, subscription: Subscription) -> None:
        """Store the subscription that ``close`` must wake."""
        self._subscription = subscription

    def close(self) -> None:
        self.closed = True
        if self._subscription is not None:
            self._subscription.deliver(CLOSED)


class Subscribers:
    """The open streams of one event loop. The limits on open streams apply to each process separately."""

    def __init__(self, *, per_user_max: int, total_max: int) -> None:
        self._per_user_max = per_user_max
        self._total_max = total_max
        self._open: set[Subscriber] = set()
        self._by_user: Counter[int] = Counter()

    @contextmanager
    def admit(self, *, user_id: int, token_id: int) -> Iterator[Subscriber]:
        """Count a stream as open until the context ends. Raises TooMany."""
        if self._by_user[user_id] >= self._per_user_max:
            raise TooMany(
                "too-many-streams",
                f"Too many open streams: this user already has {self._per_user_max}, the limit per user.",
                retry_after_s=RETRY_AFTER_S,
            )
        if len(self._open) >= self._total_max:
            raise TooMany(
                "too-many-streams",
                f"Too many open streams: this API process already serves {self._total_max}, its limit.",
                retry_after_s=RETRY_AFTER_S,
            )
        subscriber = Subscriber(token_id)
        self._open.add(subscriber)
        self._by_user[user_id] += 1
        try:
            yield subscriber
        finally:
            self._open.discard(subscriber)
            self._by_user[user_id] -= 1
            if not self._by_user[user_id]:
                del self._by_user[user_id]

    async def close_unauthorized(self, database: Database, notifications: Notifications) -> None:
        """Run until the process stops, and close streams whose token is no longer valid. One query checks the tokens of all streams."""

        def valid(tokens: set[int]) -> set[int]:
            with database.session() as session:
                return _valid_tokens(session, tokens)

        with notifications.subscribe(ACCOUNTS) as subscription:
            while True:
                await subscription.wait(CHECK_INTERVAL_S)
                if not (tokens := {subscriber.token_id for subscriber in self._open}):
                    continue
                try:
                    invalid = tokens - await run_in_threadpool(valid, tokens)
                except SQLAlchemyError as error:
                    # Without a database the streams deliver nothing, so it is safe to keep them open.
                    log.warning("cannot check the tokens of open streams", problem=type(error).__name__)
                    continue
                for subscriber in self._open:
                    if subscriber.token_id in invalid:
                        subscriber.close()


def _valid_tokens(session: Session, token_ids: Collection[int]) -> set[int]:
    query = select(Token.id).join(User, Token.user_id == User.id)
    return set(
        session.scalars(
            query.where(Token.id.in_(token_ids), Token.revoked_at.is_(None), Token.expires_at > now(), ~User.disabled)
        )
    )
