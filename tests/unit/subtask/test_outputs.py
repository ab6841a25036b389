from __future__ import annotations

from typing import cast

import pyarrow as pa

from weir.graph.logical import Partitioning
from weir.graph.physical import Edge
from weir.operators.batch_slicing import slice_by_bytes
from weir.operators.code_bundle import CodeBundle
from weir.operators.partitioners import SingleTargetPartitioner
from weir.protocol.frames import Frame
from weir.protocol.ids import ChannelId, Generation
from weir.subtask.channels import ChannelLimits, OutputEdge, Outputs, RemoteOutput
from weir.subtask.program import JobProgram


def test_a_forward_edge_connects_subtasks_that_have_the_same_index() -> None:
    sent: list[Frame] = []
    edge = Edge(index=4, source=0, target=1, target_input=0, partitioning=Partitioning.FORWARD)
    channel = ChannelId(4, 2, 2)
    out = OutputEdge(edge, SingleTargetPartitioner(2), [RemoteOutput(channel, 0, sent.append, slice_by_bytes)])
    Outputs([out], generation=Generation(1), epoch=1).add(pa.record_batch({"n": [1, 2]}), now_ns=0)
    assert [frame.channel for frame in sent] == [channel]


def test_a_batch_that_exceeds_the_batch_limit_of_its_channel_is_sent_in_slices() -> None:
    sent: list[Frame] = []
    limits = ChannelLimits(window_bytes=64 * 1024, batch_bytes=32 * 1024)
    output = RemoteOutput(ChannelId(0, 0, 1), 0, sent.append, JobProgram(CodeBundle({}), batch_rows=65_536).slice_batch, limits)
    batch = pa.record_batch({"number": range(20_000), "text": ["x" * (number % 7) for number in range(20_000)]})
    assert output.send_data(batch, Generation(1), 1) >= batch.nbytes
    released = 0
    while released < len(sent):
        output.on_credit(sent[released].bytes_held)
        released += 1
    slices = [cast(pa.RecordBatch, frame.batch) for frame in sent]
    assert len(slices) > 1 and all(part.nbytes <= limits.batch_bytes for part in slices)
    assert pa.Table.from_batches(slices) == pa.Table.from_batches([batch])
