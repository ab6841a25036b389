from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.storage.storage_builders import JOB, UID, manifest_of

from weir.errors import CheckpointError, ProtocolError
from weir.protocol.channel_state import NO_WATERMARK, EdgeChannels, PackedInts
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.log_view import CheckpointRecord
from weir.protocol.manifest import (
    MANIFEST_FORMAT,
    AssignerState,
    Manifest,
    SplitListFile,
    aggregate_statistics,
    decode_manifest,
    encode_manifest,
)
from weir.protocol.snapshots import Committable, OperatorSnapshot, Split, StateFile, SubtaskSnapshot, SubtaskStatistics
from weir.storage.layout import FileOrigin, JobLayout, identify
from weir.storage.manifests import checkpoint_statistics, read_channels, read_manifest, write_manifest
from weir.storage.memory import MemoryStorage

FILES = tuple(StateFile(f"state/per-route/g1-c7-s0-a.{number}.arrow", 100, "xxh3:00", 5, (0, 63)) for number in (1, 0))
LAYOUT = JobLayout(JOB)


def _written(storage: MemoryStorage, manifest: Manifest) -> CheckpointRecord:
    written = write_manifest(storage, LAYOUT, manifest)
    return CheckpointRecord(manifest.checkpoint, manifest.generation, "b1", written.path, written.checksum, 10, 0, False)


def test_a_written_manifest_is_read_back_unchanged() -> None:
    storage, manifest = MemoryStorage(), manifest_of(1, 7, FILES)
    record = _written(storage, manifest)
    assert record.manifest_path == "checkpoints/7/manifest-g1.json"
    assert read_manifest(storage, LAYOUT, record) == manifest


def test_a_manifest_is_readable_json() -> None:
    value = json.loads(encode_manifest(manifest_of(1, 7, FILES)))
    assert value["format"] == 4
    assert value["subtasks"][0]["operators"][0]["files"][0]["path"] == FILES[0].path
    assert value["assigners"]["flights"]["pending"][0]["id"] == "s2"


def test_a_manifest_lists_each_file_once_and_the_committables_of_all_subtasks() -> None:
    committable = Committable(JOB, UID, Generation(1), CheckpointId(7), 0, {"file": "x"})
    subtasks = tuple(
        SubtaskSnapshot(0, index, (OperatorSnapshot(UID, index, FILES[: index + 1], committables=(committable,)),), False,
                        SubtaskStatistics(sync_us=index, alignment_ms=2.0 - index))
        for index in (0, 1)
    )  # fmt: skip
    manifest = manifest_of(1, 7, ())
    manifest = Manifest(**{name: getattr(manifest, name) for name in manifest.__slots__} | {"subtasks": subtasks})
    assert [file.path for file in manifest.referenced_files()] == [FILES[1].path, FILES[0].path]
    assert manifest.committables() == (committable, committable)
    statistics = aggregate_statistics(subtasks, end_to_end_ms=12.5, earlier_files={FILES[0].path})
    assert (statistics.state_bytes, statistics.checkpointed_bytes, statistics.end_to_end_ms) == (200, 100, 12.5)
    in_one_object = StateFile(FILES[0].path, 50, "xxh3:01", offset=128)
    shared = SubtaskSnapshot(0, 2, (OperatorSnapshot(UID, 2, (in_one_object,)),), False, SubtaskStatistics())
    assert aggregate_statistics((*subtasks, shared), end_to_end_ms=0).state_bytes == 250
    assert (statistics.sync_us_max, statistics.alignment_ms_max) == (1, 2.0)


def test_a_file_name_shows_whether_the_checkpoint_itself_wrote_the_file() -> None:
    written, of_checkpoint_6, of_generation_1, packed, packed_in_checkpoint_6 = (
        "state/u/g2-c7-s0-a.0.arrow", "state/u/g2-c6-s0-a.0.arrow", "state/u/g1-c7-s0-a.0.arrow",
        "state/packed.slots/g2-c7-a.pack", "state/packed.slots/g2-c6-a.pack",
    )  # fmt: skip
    files = tuple(
        StateFile(path, size, "xxh3:00", offset=offset)
        for path, size, offset in (
            (written, 1, 0), (of_checkpoint_6, 10, 0), (of_generation_1, 100, 0), (packed, 1_000, 0), (packed, 10_000, 64),
            (packed_in_checkpoint_6, 100_000, 64),
        )
    )  # fmt: skip
    subtask = SubtaskSnapshot(0, 0, (OperatorSnapshot(UID, 0, files),), False, SubtaskStatistics())
    found = checkpoint_statistics((subtask,), checkpoint=CheckpointId(7), generation=Generation(2), end_to_end_ms=3)
    assert (found.checkpointed_bytes, found.state_bytes, found.end_to_end_ms) == (11_001, 111_111, 3)


def test_the_error_for_a_manifest_of_a_newer_weir_version_does_not_recommend_a_backup() -> None:
    storage = MemoryStorage()
    record = _written(storage, replace(manifest_of(1, 7, FILES), format=99))
    with pytest.raises(
        CheckpointError, match=r"manifest-g1.json cannot be read: manifest of format 99, .* upgrade Weir"
    ) as error:
        read_manifest(storage, LAYOUT, record)
    assert "backup" not in str(error.value) and "restore another checkpoint with --from" in str(error.value)


def test_the_error_for_a_truncated_or_damaged_manifest_says_how_to_fix_it() -> None:
    storage, manifest = MemoryStorage(), manifest_of(1, 7, FILES)
    record = _written(storage, manifest)
    path = LAYOUT.absolute(record.manifest_path)
    content = bytes(storage.get(path))
    for damaged in (b"", content[:-1], content[: len(content) // 2], content.replace(b"per-route", b"per-rouse"), content + b" "):
        storage.put(path, (damaged,))
        with pytest.raises(
            CheckpointError, match=r"Cannot restore checkpoint 7: .*manifest-g1.json is damaged or truncated.*--from"
        ):
            read_manifest(storage, LAYOUT, record)
    storage.delete([path])
    with pytest.raises(CheckpointError, match=r"manifest-g1.json is missing.*--from"):
        read_manifest(storage, LAYOUT, record)


def test_the_manifest_of_another_checkpoint_is_refused() -> None:
    storage = MemoryStorage()
    record = _written(storage, manifest_of(1, 7, FILES))
    other = CheckpointRecord(
        CheckpointId(8), record.generation, "b1", record.manifest_path, record.manifest_checksum, 10, 0, False
    )
    with pytest.raises(CheckpointError, match="belongs to checkpoint 7"):
        read_manifest(storage, LAYOUT, other)


def test_a_manifest_of_a_weir_version_without_emitted_watermarks_is_readable() -> None:
    manifest = manifest_of(1, 7, FILES)
    value = json.loads(encode_manifest(manifest))
    for subtask in value["subtasks"]:
        del subtask["watermark_ms"]
    assert decode_manifest(json.dumps(value).encode()) == manifest


@pytest.mark.parametrize("manifest_format", [1, 2])
def test_a_manifest_of_a_weir_version_without_split_lists_is_readable(manifest_format: int) -> None:
    """A manifest of format 1 or 2 contains all pending splits and the ids of the splits that were assigned since the restore."""
    manifest = manifest_of(1, 7, FILES)
    unfinished = OperatorSnapshot(OperatorUid("flights"), 1, splits=(Split("s1", {"file": "a.txt"}, 5),))
    manifest = replace(manifest, subtasks=(replace(manifest.subtasks[0], operators=(unfinished,)),), format=manifest_format)
    value = json.loads(encode_manifest(manifest))
    for split in (value["subtasks"][0]["operators"][0]["splits"][0], value["assigners"]["flights"]["pending"][0]):
        del split["index"]
    value["assigners"]["flights"] = {
        "pending": value["assigners"]["flights"]["pending"], "assigned": ["s0", "s1"], "finished": 4, "enumerated": True,
    }  # fmt: skip
    decoded = decode_manifest(json.dumps(value).encode())
    assert decoded.assigners == {OperatorUid("flights"): AssignerState((Split("s2", {"file": "b.txt"}),), 4 + 1)}
    assert decoded.subtasks == manifest.subtasks
    assert decode_manifest(encode_manifest(decoded)) == decoded


CHANNELS = (
    EdgeChannels(0, 200, 200, PackedInts.pack(list(range(40_000))), ended=PackedInts.pack([0, 1] * 20_000)),
    EdgeChannels(1, 200, 1, PackedInts(200, 7)),
)


def test_the_channels_of_a_wide_job_are_in_a_file_beside_the_manifest() -> None:
    storage, manifest = MemoryStorage(), replace(manifest_of(1, 7, FILES), channels=CHANNELS)
    read = read_manifest(storage, LAYOUT, _written(storage, manifest))
    assert read.channel_file is not None
    assert (read.channel_file.path, read.channel_file.bytes) == ("state/packed.slots/g1-c7-channels.pack", 40_000 * 3)
    assert identify(read.channel_file.path) == FileOrigin(Generation(1), CheckpointId(7))
    assert read.channel_file in read.referenced_files()
    assert read_channels(storage, LAYOUT, read) == CHANNELS
    assert len(encode_manifest(read)) < 2_500


def test_the_channels_of_a_small_job_are_in_the_manifest() -> None:
    storage, manifest = MemoryStorage(), replace(manifest_of(1, 7, FILES), channels=CHANNELS[1:])
    read = read_manifest(storage, LAYOUT, _written(storage, manifest))
    assert read.channel_file is None
    assert read_channels(storage, LAYOUT, read) == CHANNELS[1:]


def test_the_error_for_a_missing_or_damaged_channel_file_says_how_to_fix_it() -> None:
    storage, manifest = MemoryStorage(), replace(manifest_of(1, 7, FILES), channels=CHANNELS)
    read = read_manifest(storage, LAYOUT, _written(storage, manifest))
    assert read.channel_file is not None
    path = LAYOUT.absolute(read.channel_file.path)
    content = bytes(storage.get(path))
    storage.put(path, (content[:-1] + b"x",))
    with pytest.raises(CheckpointError, match=r"Cannot restore checkpoint 7: .*g1-c7-channels.pack is damaged.*--from"):
        read_channels(storage, LAYOUT, read)
    storage.delete([path])
    with pytest.raises(CheckpointError, match=r"g1-c7-channels.pack is missing.*--from"):
        read_channels(storage, LAYOUT, read)
    storage.put(path, (content,))
    with pytest.raises(CheckpointError, match=r"g1-c7-channels.pack cannot be read: .* describes 200 bytes.*--from"):
        read_channels(storage, LAYOUT, replace(read, channels=(EdgeChannels(0, 200, 1, PackedInts(200, 0, 1)),)))


@pytest.mark.parametrize("manifest_format", [1, 2, 3])
def test_the_channels_of_a_manifest_of_an_older_version_are_converted(manifest_format: int) -> None:
    manifest = manifest_of(1, 7, FILES)
    value = json.loads(encode_manifest(manifest)) | {"format": manifest_format, "assigners": {}}
    del value["channels"], value["channel_file"]
    value["subtasks"] = [_old_subtask(value["subtasks"][0], chain, index) for chain in (0, 1) for index in (0, 1)]
    decoded = decode_manifest(json.dumps(value).encode())
    (edge,) = decoded.channels
    assert (edge.edge, edge.senders, edge.fan_out, edge.sequences.unpack().tolist()) == (3, 2, 2, [0, 1, 10, 11])
    assert edge.watermarks_ms is not None and edge.watermarks_ms.unpack().tolist() == [NO_WATERMARK, 0, NO_WATERMARK, 5]
    assert edge.idle is None and edge.ended is not None and edge.ended.unpack().tolist() == [0, 0, 1, 1]
    assert all(subtask.inputs == subtask.outputs == () for subtask in decoded.subtasks)
    value["subtasks"][3]["inputs"][0]["sequence"] += 1
    with pytest.raises(ProtocolError, match="channel e3:0>1, the next row of the sender is number 1, but .* number 2"):
        decode_manifest(json.dumps(value).encode())


def _old_subtask(subtask: dict[str, Any], chain: int, index: int) -> dict[str, Any]:
    """Return a subtask of a manifest of format 1 to 3. Chain 0 sends to chain 1."""

    def end(source: int, target: int, **state: object) -> dict[str, object]:
        return {"channel": [3, source, target], "sequence": 10 * source + target, "idle": False, "ended": False} | state

    inputs = [end(source, index, watermark_ms=[None, [0, 5][source]][index], ended=source == 1) for source in (0, 1)]
    outputs = [end(index, target, watermark_ms=None) for target in (0, 1)]
    return subtask | {"chain": chain, "index": index, "inputs": inputs if chain else [], "outputs": [] if chain else outputs}


def test_a_manifest_of_a_weir_version_that_did_not_count_records_is_readable() -> None:
    manifest = manifest_of(1, 7, FILES)
    value = json.loads(encode_manifest(manifest)) | {"format": 3}
    del value["assigners"]["flights"]["records"]
    for operator in (operator for subtask in value["subtasks"] for operator in subtask["operators"]):
        del operator["records"]
    del value["channels"], value["channel_file"]
    assert decode_manifest(json.dumps(value).encode()) == manifest


def test_a_manifest_of_a_weir_version_with_one_split_list_per_source_is_readable() -> None:
    split_list = StateFile("state/flights/g1-c1-s0-splits.0.arrow", 10, "xxh3:01", 3)
    manifest = manifest_of(1, 7, FILES, split_list=split_list)
    value = json.loads(encode_manifest(manifest)) | {"format": 3}
    del value["channels"], value["channel_file"]
    (listed,) = value["assigners"]["flights"].pop("split_lists")
    value["assigners"]["flights"]["split_list"] = listed["file"]
    assert decode_manifest(json.dumps(value).encode()) == manifest
    assert manifest.assigners[OperatorUid("flights")].split_lists == (SplitListFile(0, split_list),)


def test_the_referenced_files_of_a_manifest_include_the_split_list() -> None:
    split_list = StateFile("state/packed.slots/g1-c1-splits.0.pack", 10, "xxh3:01", 3, offset=64)
    assert manifest_of(1, 7, FILES, split_list=split_list).referenced_files() == (split_list, FILES[1], FILES[0])


def test_the_error_for_a_newer_manifest_format_asks_the_user_to_upgrade_weir() -> None:
    value = json.loads(encode_manifest(manifest_of(1, 7, FILES)))
    with pytest.raises(ProtocolError, match="upgrade Weir"):
        decode_manifest(json.dumps(value | {"format": MANIFEST_FORMAT + 1, "new_field": 1}).encode())


@pytest.mark.parametrize("data", [b"", b"null", b"[1]", b"\xff\xfe", b"{}", b'{"format": 1}', b"[" * 100_000])
def test_a_file_that_is_not_a_manifest_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_manifest(data)
