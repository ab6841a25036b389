"""The deployment of one generation in a slot, which consists of subtasks with restored state and their channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from weir.graph.key_groups import key_group_range
from weir.graph.logical import OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.kernel.alignment import CheckpointMode
from weir.kernel.config import BATCH_ROWS, NETWORK_BYTES
from weir.kernel.input_processor import InputProcessor, InputStart
from weir.operators.base import Operator, OperatorContext, SourceOperator
from weir.protocol.channel_state import NO_WATERMARK
from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import ChannelId, CheckpointId, OperatorUid, SubtaskId
from weir.protocol.messages import Deploy, RequestSplit
from weir.protocol.snapshots import OperatorSnapshot
from weir.storage.state_files import RestoreProgress
from weir.subtask.channel_subtask import ChannelSubtask
from weir.subtask.channels import (
    Arrivals,
    ChannelLimits,
    InputChannel,
    LocalOutput,
    OutputChannel,
    OutputEdge,
    Outputs,
    RemoteOutput,
    buffer_ns_of,
)
from weir.subtask.checkpointing import SlotCheckpoints
from weir.subtask.environment import Background, Program, SlotEnvironment
from weir.subtask.source_subtask import SourceSubtask
from weir.subtask.subtask import SubtaskParts, SubtaskRuntime


@dataclass(frozen=True, slots=True)
class SlotSettings:
    """Settings of a slot. All slots of a run have the same settings. ``network_bytes`` is the memory for batches from other
    slots."""

    batch_rows: int = BATCH_ROWS
    network_bytes: int = NETWORK_BYTES
    buffer_timeout_ms: float | None = None
    """Maximum time for which a buffer waits for more rows. 0: no wait. None: adaptive, a time that grows with the parallelism."""
    mode: CheckpointMode = CheckpointMode.EXACTLY_ONCE
    restore_report_ns: int = 1_000_000_000
    """The interval at which the slot reports the progress of a restore. The interval must be shorter than the deploy timeout."""


class SlotDeployment:
    """The part of a generation that runs in this slot."""

    def __init__(self, deploy: Deploy, graph: PhysicalGraph, background: Background) -> None:
        self.message = deploy
        self.background = background
        self.graph = graph
        self.generation = deploy.generation
        self.subtasks: list[SubtaskRuntime] = []
        """The subtasks, downstream first."""
        self.parts: list[Operator | SourceOperator] = []
        """Every operator that was opened and must be closed."""
        self.inputs: dict[ChannelId, InputChannel] = {}
        self.remote_outputs: dict[ChannelId, RemoteOutput] = {}
        self.checkpoints = SlotCheckpoints(sum(1 for _ in graph.subtasks_of_slot(deploy.slot)))
        self.restore: StateRestore | None = None
        """The running restore of state files, or None."""
        self.buffer_ns = 0
        """The time for which buffers between subtasks wait for more rows."""
        self.announced = False
        self.running = False
        self.failed = False


class StateRestore:
    """Restores the operators that have state files. The snapshot thread calls ``run``. While ``run`` is running, the loop reads
    ``progress`` and can cancel the restore."""

    def __init__(self, restored: Sequence[tuple[Operator, Sequence[OperatorSnapshot]]], environment: SlotEnvironment) -> None:
        self.operators = [operator for operator, _ in restored]
        self._restored = restored
        self._environment = environment
        self._files = [file for _, snapshots in restored for snapshot in snapshots for file in snapshot.files]
        self.progress = RestoreProgress(sum(file.bytes for file in self._files))
        self.report_at_ns = 0

    def run(self) -> None:
        # All operators share one reader, because the state files of several operators are often in the same object.
        with self._environment.snapshot_reader(self._files, self.progress) as reader:
            for operator, snapshots in self._restored:
                operator.restore(snapshots, reader)


class DeploymentBuilder:
    """Builds a deployment. Call ``build`` once. After ``build``, call ``restore.run`` if the deployment's field ``restore`` is
    not None. If ``build`` raises an error, the deployment's ``parts`` can still be closed."""

    def __init__(
        self,
        deployment: SlotDeployment,
        program: Program,
        environment: SlotEnvironment,
        settings: SlotSettings,
        *,
        on_ended: Callable[[SubtaskId], None],
    ) -> None:
        self._deployment = deployment
        self._graph = deployment.graph
        self._message = deployment.message
        self._program = program
        self._environment = environment
        self._settings = settings
        self._on_ended = on_ended
        self._limits = ChannelLimits.of(deployment.graph, settings.network_bytes)
        self._buffer_ns = deployment.buffer_ns = buffer_ns_of(deployment.graph, settings.buffer_timeout_ms)
        self._with_files: list[tuple[Operator, Sequence[OperatorSnapshot]]] = []
        self._restored_inputs = {restored.edge: restored for restored in deployment.message.inputs}
        self._restored_outputs = {restored.edge: restored for restored in deployment.message.outputs}

    def build(self) -> None:
        subtasks = sorted(self._graph.subtasks_of_slot(self._message.slot), reverse=True)
        for subtask in subtasks:
            arrivals = Arrivals()
            for channel in self._graph.inputs_of(subtask):
                edge = self._graph.edges[channel.edge]
                return_credit = None if channel.source == self._message.slot else self._return_credit
                self._deployment.inputs[channel] = InputChannel(channel, edge.target_input, return_credit, self._limits, arrivals)
        for subtask in subtasks:
            self._deployment.subtasks.append(self._subtask(subtask))
        if self._with_files:
            self._deployment.restore = StateRestore(self._with_files, self._environment)

    def _return_credit(self, channel: ChannelId, count: int) -> None:
        self._environment.send_frame(channel.source, Frame(FrameKind.CREDIT, channel, self._deployment.generation, 0, 0, count))

    def _subtask(self, subtask: SubtaskId) -> SubtaskRuntime:
        outputs = self._outputs(subtask)
        source, operators = self._open(subtask)
        ended_before = subtask in self._message.ended
        parts = SubtaskParts(
            operators, outputs, self._environment, self._on_ended, self._deployment.checkpoints.add, ended_before
        )
        last_checkpoint = CheckpointId(self._message.next_checkpoint - 1)
        if source is not None:
            return SourceSubtask(
                subtask,
                parts,
                uid=self._graph.chains[subtask.chain].operators[0],
                source=source,
                last_checkpoint=last_checkpoint,
                request_split=self._request_split,
                buffer_ns=self._buffer_ns,
            )
        channels = self._graph.inputs_of(subtask)
        joinable = all(self._program.may_join(self._graph, edge) for edge in {channel.edge for channel in channels})
        protocol = InputProcessor(
            generation=self._deployment.generation,
            inputs=self._input_starts(subtask),
            mode=self._settings.mode,
            last_checkpoint=last_checkpoint,
            ended=ended_before,
            watermark_ms=dict(self._message.watermarks).get(subtask),
        )
        return ChannelSubtask(
            subtask,
            parts,
            protocol=protocol,
            inputs=[self._deployment.inputs[channel] for channel in channels],
            join=self._program.join,
            joined_rows_max=self._settings.batch_rows if joinable else 0,
            buffer_ns=self._buffer_ns if joinable else 0,
        )

    def _request_split(self, uid: OperatorUid, index: int) -> None:
        self._environment.send_control(RequestSplit(self._deployment.generation, uid, index))

    def _input_starts(self, subtask: SubtaskId) -> dict[ChannelId, InputStart]:
        starts = {}
        for edge in self._graph.edges:
            if edge.target != subtask.chain:
                continue
            restored = self._restored_inputs[edge.index]
            sources = self._graph.sources_of(edge, subtask.index)
            none = [0] * len(sources)
            watermarks_ms = none if restored.watermarks_ms is None else restored.watermarks_ms.unpack().tolist()
            idle = none if restored.idle is None else restored.idle.unpack().tolist()
            ended = none if restored.ended is None else restored.ended.unpack().tolist()
            sequences = restored.sequences.unpack().tolist()
            for position, source in enumerate(sources):
                watermark_ms = watermarks_ms[position]
                undefined = restored.watermarks_ms is None or watermark_ms == NO_WATERMARK
                starts[ChannelId(edge.index, source, subtask.index)] = InputStart(
                    sequences[position],
                    None if undefined else watermark_ms,
                    bool(idle[position]),
                    bool(ended[position]),
                    edge.feedback,
                )
        return starts

    # ---- operators -------------------------------------------------------------------------------

    def _open(self, subtask: SubtaskId) -> tuple[SourceOperator | None, list[Operator]]:
        """Open all operators of the chain. Then restore the operators that have a snapshot but no state files. A StateRestore
        later restores the operators that have state files."""
        parts = list(self._program.operators(self._graph, subtask))
        uids = self._graph.chains[subtask.chain].operators
        for uid, part in zip(uids, parts, strict=True):
            self._deployment.parts.append(part)
            part.open(self._context(subtask, uid))
        operators: list[Operator] = []
        source: SourceOperator | None = None
        for uid, part in zip(uids, parts, strict=True):
            if isinstance(part, SourceOperator):
                source = part
                continue
            operators.append(part)
            restored = self._restored(uid, subtask.index)
            if any(snapshot.files for snapshot in restored):
                self._with_files.append((part, restored))
            elif restored:
                with self._environment.snapshot_reader((), RestoreProgress(0)) as reader:
                    part.restore(restored, reader)
        return source, operators

    def _restored(self, uid: OperatorUid, subtask: int) -> Sequence[OperatorSnapshot]:
        return [
            snapshot
            for restored in self._message.operators
            if restored.operator == uid and restored.subtask == subtask
            for snapshot in restored.snapshots
        ]

    def _context(self, subtask: SubtaskId, uid: OperatorUid) -> OperatorContext:
        parallelism = self._graph.chains[subtask.chain].parallelism
        maximum = self._graph.max_parallelism[uid]
        background = self._deployment.background
        is_sink = self._graph.operator(uid).kind is OperatorKind.SINK
        return OperatorContext(
            job=self._graph.logical.job,
            uid=uid,
            name=self._graph.operator(uid).name,
            subtask=subtask.index,
            parallelism=parallelism,
            max_parallelism=maximum,
            key_groups=key_group_range(subtask.index, parallelism, maximum),
            generation=self._deployment.generation,
            batch_rows=self._settings.batch_rows,
            run_in_background=background.encode if is_sink else background.call,
            restored_checkpoint=self._message.restored_checkpoint,
            attempt=self._message.attempt,
            buffer_ns=self._buffer_ns,
        )

    # ---- outputs ---------------------------------------------------------------------------------

    def _outputs(self, subtask: SubtaskId) -> Outputs:
        edges = []
        for edge in self._graph.edges:
            if edge.source != subtask.chain:
                continue
            sequences = self._restored_outputs[edge.index].sequences.unpack().tolist()
            partitioner = self._program.partitioner(self._graph, edge, subtask.index, sum(sequences))
            targets = self._graph.targets_of(edge, subtask.index)
            channels = (ChannelId(edge.index, subtask.index, target) for target in targets)
            outputs = [self._output(channel, sequence) for channel, sequence in zip(channels, sequences, strict=True)]
            edges.append(OutputEdge(edge, partitioner, outputs))
        epoch = (self._message.restored_checkpoint or 0) + 1
        # Flush a little more often than the rows arrive, so that a round of batches does not wait for the next round.
        return Outputs(edges, generation=self._deployment.generation, epoch=epoch, flush_interval_ns=self._buffer_ns * 3 // 8)

    def _output(self, channel: ChannelId, sequence: int) -> OutputChannel:
        if channel.target == self._message.slot:
            return LocalOutput(channel, sequence, self._deployment.inputs[channel])
        output = RemoteOutput(
            channel,
            sequence,
            partial(self._environment.send_frame, channel.target),
            self._program.slice_batch,
            self._limits,
        )
        self._deployment.remote_outputs[channel] = output
        return output
