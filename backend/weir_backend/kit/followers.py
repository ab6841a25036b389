"""Who follows: each open stream has a place, of which there are only so many, and loses it with the token that it was opened with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import structlog
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from weir_backend.errors import TooMany
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.wakeups import ACCOUNTS, Subscription, Wakeups
from weir_backend.models import Token, User

if TYPE_CHECKING:
    from weir_backend.kit.access import Caller

log = structlog.get_logger(__name__)
LOOK_AGAIN_S = 5.0
"""Nobody tells of a token that expires; and who is told of others does not depend on it."""
AGAIN_S = 30
"""When who finds no place may try again."""
CLOSED = "closed"
"""Rings at whoever waits for news in a place that is taken away."""


class Place:
    """Of one stream. ``taken_away``: it has to end."""

    def __init__(self, token_id: int) -> None:
        self.token_id = token_id
        self.taken_away = False
        self._news: Subscription | None = None

    def wakes(self, news: Subscription) -> None:
        """Who waits there is woken when the place is taken away."""
        self._news = news

    def take_away(self) -> None:
        self.taken_away = True
        if self._news is not None:
            self._news.ring(CLOSED)


class Followers:
    """Of one event loop: limits are those of one process."""

    def __init__(self, *, per_user_max: int, in_all_max: int) -> None:
        self._per_user_max = per_user_max
        self._in_all_max = in_all_max
        self._places: set[Place] = set()
        self._of_users: Counter[int] = Counter()

    @contextmanager
    def take(self, caller: Caller) -> Iterator[Place]:
        """Until the end of the context. Raises TooMany."""
        assert caller.user_id is not None and caller.token_id is not None, "the platform itself follows nothing"
        if self._of_users[caller.user_id] >= self._per_user_max:
            raise TooMany(
                "too-many-streams",
                f"{caller.name} follows {self._per_user_max} streams already, and more are not served to one user",
                retry_after_s=AGAIN_S,
            )
        if len(self._places) >= self._in_all_max:
            raise TooMany(
                "too-many-streams", f"{self._in_all_max} streams are open, and more are not served", retry_after_s=AGAIN_S
            )
        place = Place(caller.token_id)
        self._places.add(place)
        self._of_users[caller.user_id] += 1
        try:
            yield place
        finally:
            self._places.discard(place)
            self._of_users[caller.user_id] -= 1
            if not self._of_users[caller.user_id]:
                del self._of_users[caller.user_id]

    async def look_after(self, database: Database, wakeups: Wakeups) -> None:
        """For as long as the process serves: one read for all who follow, when an account has changed and now and then."""

        def valid(tokens: set[int]) -> set[int]:
            with database.session() as session:
                return _valid(session, tokens)

        with wakeups.subscribe(ACCOUNTS) as news:
            while True:
                await news.wait(LOOK_AGAIN_S)
                if not (tokens := {place.token_id for place in self._places}):
                    continue
                try:
                    gone = tokens - await run_in_threadpool(valid, tokens)
                except SQLAlchemyError as error:
                    # Nothing can be read for them either.
                    log.warning("it cannot be seen whether those who follow still may", problem=type(error).__name__)
                    continue
                for place in self._places:
                    if place.token_id in gone:
                        place.take_away()


def _valid(session: Session, token_ids: Collection[int]) -> set[int]:
    """Those of them that somebody would be let in with now."""
    query = select(Token.id).join(User, Token.user_id == User.id)
    return set(
        session.scalars(
            query.where(Token.id.in_(token_ids), Token.revoked_at.is_(None), Token.expires_at > now(), ~User.disabled)
        )
    )
