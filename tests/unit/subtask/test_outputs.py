from __future__ import annotations

import pyarrow as pa

from weir.graph.logical import Partitioning
from weir.graph.physical import Edge
from weir.operators.batch_slicing import slice_by_bytes
from weir.operators.partitioners import SingleTargetPartitioner
from weir.protocol.frames import Frame
from weir.protocol.ids import ChannelId, Generation
from weir.subtask.channels import OutputEdge, Outputs, RemoteOutput


def test_a_forward_edge_connects_subtasks_that_have_the_same_index() -> None:
    sent: list[Frame] = []
    edge = Edge(index=4, source=0, target=1, target_input=0, partitioning=Partitioning.FORWARD)
    channel = ChannelId(4, 2, 2)
    out = OutputEdge(edge, SingleTargetPartitioner(2), [RemoteOutput(channel, 0, sent.append, slice_by_bytes)])
    Outputs([out], generation=Generation(1), epoch=1).add(pa.record_batch({"n": [1, 2]}), now_ns=0)
    assert [frame.channel for frame in sent] == [channel]
