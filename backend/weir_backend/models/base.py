"""The base class of all tables, and common column types."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from sqlalchemy import BigInteger, DateTime, Enum, Identity, MetaData, Text, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, mapped_column

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
"""Naming conventions for constraints, so that migrations can refer to them by name."""

Key = Annotated[int, mapped_column(BigInteger, Identity(), primary_key=True)]
Created = Annotated[datetime, mapped_column(DateTime(timezone=True), server_default=func.now())]


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMES)
    # Column annotations with their Postgres types. Times always have a time zone.
    type_annotation_map = {  # SQLAlchemy reads ``type_annotation_map`` from the class
        datetime: DateTime(timezone=True),
        str: Text,
        int: BigInteger,
        dict[str, Any]: JSONB(none_as_null=True),
        list[Any]: JSONB(none_as_null=True),
    }


def word(words: type[StrEnum], name: str) -> Enum:
    """Return the type of a column ``name`` that contains one of the values of ``words``. The type is not a Postgres enum, so a value can be
    added without rewriting the table."""
    return Enum(
        words,
        name=name,
        native_enum=False,
        create_constraint=True,
        length=20,
        values_callable=lambda kind: [one.value for one in kind],
    )
