from __future__ import annotations

import pyarrow as pa
from tests.unit.state.conftest import MemoryFiles

from weir.operators.aggregate import AggregateOperator
from weir.operators.base import OperatorContext
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.state.backend import AggregateFunction, AggregateSpec, Emit

SCHEMA = pa.schema([("k", pa.int64())])


def opened(batch_rows: int = 100) -> AggregateOperator:
    operator = AggregateOperator(("k",), (AggregateSpec("n", AggregateFunction.COUNT),), SCHEMA, Emit.EACH)
    operator.open(
        OperatorContext(
            job="job", uid=OperatorUid("counts"), name="counts", subtask=0, parallelism=1, max_parallelism=128,
            key_groups=(0, 127), generation=Generation(1), batch_rows=batch_rows,
        )
    )  # fmt: skip
    return operator


def batch_of(keys: list[int]) -> pa.RecordBatch:
    return pa.record_batch({"k": keys}, schema=SCHEMA)


def test_the_batches_of_results_have_a_limited_number_of_rows() -> None:
    operator = opened(batch_rows=4)
    results = [batch for batch in operator.process(batch_of([1] * 10), 0) if batch is not None]
    assert [batch.num_rows for batch in results] == [4, 4, 2]
    assert [n for batch in results for n in batch["n"].to_pylist()] == list(range(1, 11))
    assert list(operator.process(batch_of([]), 0)) == []


def test_a_batch_is_applied_to_the_state_only_when_its_results_are_pulled() -> None:
    operator = opened(batch_rows=1)
    step = operator.process(batch_of([1, 2, 3]), 0)
    next(step)
    assert operator.gauges()["keys"] == 1


def test_a_restored_operator_continues_with_the_restored_counts() -> None:
    files = MemoryFiles()
    operator = opened()
    list(operator.process(batch_of([1, 1, 2]), 0))
    pending = operator.snapshot(CheckpointId(1))
    while not pending.advance():
        pass
    snapshot = pending.write(files)
    assert (snapshot.operator, snapshot.subtask) == ("counts", 0)
    successor = opened()
    successor.restore([snapshot], files)
    (result,) = successor.process(batch_of([1, 2, 3]), 0)
    assert result is not None and result["n"].to_pylist() == [3, 2, 1]
    assert successor.gauges()["keys"] == 3
    operator.close()
