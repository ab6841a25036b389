from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weir.errors import ConfigError
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.paths import SEGMENT_CHARACTERS_MAX, decode_segment, encode_segment, manifest_path
from weir.storage.base import validate_path
from weir.storage.layout import FileOrigin, JobLayout, identify, log_number, pack_path, state_path

_NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)


@given(_NAMES)
@example("..")
@example(".")
@example("../../etc/passwd")
@example("a/b")
@example("Ünïcode 漢字")
@example("%2e%2e")
@example(".2e")
def test_every_job_name_can_be_encoded_as_a_safe_path_segment_and_decoded_again(name: str) -> None:
    segment = encode_segment(name)
    assert re.fullmatch(r"[A-Za-z0-9_.-]+", segment)
    assert len(segment) <= SEGMENT_CHARACTERS_MAX
    assert validate_path(segment) == segment
    assert segment not in (".", "..")
    if ".." not in segment:
        assert decode_segment(segment) == name


@given(st.lists(_NAMES | st.text("ab./", min_size=150, max_size=400), min_size=2, max_size=2, unique=True))
@example(["a" * 300, "a" * 301])
@example([".", ".2e"])
def test_different_names_are_encoded_as_different_path_segments(names: list[str]) -> None:
    assert encode_segment(names[0]) != encode_segment(names[1])


@given(st.text("ab./é", min_size=150, max_size=400))
@example("a." * 60 + "b")
def test_a_long_job_name_and_its_encoded_form_give_the_same_directory(name: str) -> None:
    segment = encode_segment(name)
    assert encode_segment(decode_segment(segment)) == segment
    assert JobLayout(segment).root == JobLayout(name).root


def test_a_name_without_special_characters_is_its_own_path_segment() -> None:
    assert encode_segment("per-route_2") == "per-route_2"
    assert encode_segment("per route") == "per.20route"


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="must not be empty"):
        encode_segment("")


def test_the_generation_and_the_checkpoint_can_be_read_from_the_path_of_a_checkpoint_file() -> None:
    identity = FileOrigin(Generation(3), CheckpointId(12))
    uid = OperatorUid("a/b")
    assert identify(pack_path(generation=Generation(3), checkpoint=CheckpointId(12), attempt="x-1.0")) == identity
    assert (
        identify(state_path(uid, generation=Generation(3), checkpoint=CheckpointId(12), subtask=1, attempt="x-1.0")) == identity
    )
    assert identify(manifest_path(CheckpointId(12), Generation(3))) == identity


@pytest.mark.parametrize(
    "path",
    [
        "log/00000001.json",
        "state/u/notes.txt",
        "staged-splits/u/g1-c1-s0-a.arrow",
        "checkpoints/1/readme",
        "state/g1-c1-s0-a.arrow",
    ],
)
def test_identify_returns_none_for_a_path_that_names_no_checkpoint_file(path: str) -> None:
    assert identify(path) is None


def test_the_file_names_of_log_entries_sort_by_number() -> None:
    layout = JobLayout("job")
    assert layout.log_entry(1) == "job/log/00000001.json"
    assert [log_number(layout.relative(layout.log_entry(number))) for number in (1, 99_999_999, 100_000_000)] == [
        1,
        99_999_999,
        100_000_000,
    ]
    assert log_number("log/1.json") is None
