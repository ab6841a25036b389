"""Encoding of schemas, canonical types, and near misses in errors."""

from __future__ import annotations

import pyarrow as pa
import pytest

from weir.errors import GraphError
from weir.graph.schema import canonical_type, decode_schema, encode_schema, near_miss


def test_encoding_and_decoding_keeps_the_types_and_nullability_and_order_of_a_schema() -> None:
    schema = pa.schema(
        [
            pa.field("t", pa.timestamp("us", "Europe/Berlin"), nullable=False),
            pa.field("d", pa.decimal128(12, 2)),
            pa.field("s", pa.struct([("x", pa.list_(pa.int8()))])),
        ]
    )
    assert decode_schema(encode_schema(schema)).equals(schema, check_metadata=True)


@pytest.mark.parametrize("text", ["", "no base64!", "AAAA"])
def test_text_that_is_not_a_schema_is_refused(text: str) -> None:
    with pytest.raises(GraphError, match="unreadable schema"):
        decode_schema(text)


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        (pa.large_string(), pa.string()),
        (pa.string_view(), pa.string()),
        (pa.large_binary(), pa.binary()),
        (pa.dictionary(pa.int8(), pa.large_string()), pa.string()),
        (pa.large_list(pa.large_string()), pa.list_(pa.string())),
        (pa.list_(pa.large_string(), 3), pa.list_(pa.string(), 3)),
        (pa.struct([("a", pa.large_string())]), pa.struct([("a", pa.string())])),
        (pa.int32(), pa.int32()),
        (pa.timestamp("ns"), pa.timestamp("ns")),
    ],
)
def test_all_arrow_layouts_of_the_same_values_have_the_same_canonical_type(given: pa.DataType, canonical: pa.DataType) -> None:
    assert canonical_type(given) == canonical


def test_the_error_for_an_unknown_name_shows_the_most_similar_name_or_all_names() -> None:
    assert near_miss("dep_dellay", ["origin", "dep_delay"]) == "; did you mean 'dep_delay'?"
    assert near_miss("ORIGIN", ["origin", "dest"]) == "; did you mean 'origin'?"
    assert near_miss("zzz", ["origin", "dest"]) == "; valid names: origin, dest"
    assert near_miss("zzz", []) == ""
