from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import select
from tests.backend.conftest import Login

from weir_backend.kit.access import caller_of
from weir_backend.kit.database import Database
from weir_backend.models import Token


def test_concurrent_requests_with_the_same_token_do_not_wait_for_each_other(database: Database, login: Login) -> None:
    secret = login()["Authorization"].removeprefix("Bearer ")

    def caller_in_second_request() -> str:
        with database.session() as session:
            return caller_of(session, secret).name

    with ThreadPoolExecutor(1) as pool, database.session() as session:
        # The first request has recorded the use of the token, and its transaction is still open.
        name = caller_of(session, secret).name
        session.flush()
        assert pool.submit(caller_in_second_request).result(timeout=5) == name
    with database.session() as session:
        assert session.scalars(select(Token)).one().last_used_at is not None
