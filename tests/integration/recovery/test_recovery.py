from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from tests.integration.recovery.recovery_rig import Rig, plan

from weir.cli.exit_codes import Exit
from weir.protocol.log_view import CheckpointStatus
from weir.spark.standalone import StandaloneCluster

pytestmark = pytest.mark.spark

MakeRig = Callable[..., Rig]


@pytest.fixture
def make_rig(tmp_path: Path) -> Iterator[MakeRig]:
    rigs: list[Rig] = []

    def make(cluster: StandaloneCluster | None = None, *, parallelisms: tuple[int, ...] = (2,)) -> Rig:
        rigs.append(Rig(tmp_path, plan(parallelisms=parallelisms, standalone=cluster is not None), cluster))
        return rigs[0]

    yield make
    for rig in rigs:
        rig.close()


def test_a_killed_worker_is_replaced_and_the_output_is_exact(make_rig: MakeRig) -> None:
    rig = make_rig()
    driver = rig.started()
    rig.recovered_after(driver, driver.slots()[0].kill)
    rig.finish(driver)


def test_a_paused_and_replaced_worker_resumes_without_effect(make_rig: MakeRig) -> None:
    rig = make_rig()
    driver = rig.started()
    slot = driver.slots()[-1]
    rig.recovered_after(driver, slot.suspend)
    if slot.is_running():
        slot.resume()
    rig.wait(lambda: not slot.is_running() or slot.status() == psutil.STATUS_ZOMBIE, "the end of the zombie")
    rig.finish(driver)


def test_a_driver_killed_during_a_checkpoint_is_replaced(make_rig: MakeRig) -> None:
    rig = make_rig()
    first = rig.started()
    rig.await_event(first, "checkpoint_triggered", after=first.log_bytes())
    first.handle.kill()
    rig.exit_code(first)
    second = rig.started()
    rig.finish(second)
    assert not [slot for slot in first.slots() if slot.is_running()]


def test_a_paused_driver_resumes_superseded(make_rig: MakeRig) -> None:
    rig = make_rig()
    first = rig.started()
    rig.await_event(first, "checkpoint_triggered", after=first.log_bytes())
    first.handle.suspend()
    second = rig.started()
    first.handle.resume()
    assert rig.exit_code(first) == Exit.SUPERSEDED
    rig.finish(second)


def test_of_two_running_drivers_the_older_one_stops(make_rig: MakeRig) -> None:
    rig = make_rig()
    first = rig.started()
    second = rig.start_second_driver()
    assert rig.exit_code(first) == Exit.SUPERSEDED
    rig.finish(second)


def test_a_suspended_job_resumes_with_more_slots(make_rig: MakeRig) -> None:
    rig = make_rig(parallelisms=(2, 3))
    first = rig.started()
    rig.suspended(first)
    suspended_at = rig.checkpoints()[-1].checkpoint
    assert suspended_at in rig.published()
    second = rig.started()
    assert len(second.slots()) == 3
    rig.finish(second)


def test_a_rollback_revokes_output_and_an_undo_reinstates_it(make_rig: MakeRig) -> None:
    rig = make_rig()
    first = rig.started("--retained", "100")
    rig.suspended(first)
    chosen, *left, tip = [info.checkpoint for info in rig.checkpoints() if info.status is CheckpointStatus.RESTORABLE]
    of_first = rig.published()
    assert tip in of_first

    second = rig.started("--from", str(chosen), "--yes", "--retained", "100")
    rig.suspended(second)
    assert {checkpoint for checkpoint in rig.published() if checkpoint <= tip} == {one for one in of_first if one <= chosen}
    of_second = {checkpoint for checkpoint in rig.published() if checkpoint > tip}
    assert of_second

    third = rig.started("--from", str(tip), "--yes", "--retained", "100")
    assert rig.published() & of_second == set()
    assert of_first <= rig.published()
    assert [info.status for info in rig.checkpoints() if info.checkpoint in of_second] == [CheckpointStatus.ABANDONED] * len(
        [info for info in rig.checkpoints() if info.checkpoint in of_second]
    )
    rig.finish(third)


def test_a_start_without_state_revokes_all_output_and_reads_all_input_again(make_rig: MakeRig) -> None:
    rig = make_rig()
    first = rig.started("--retained", "2")
    rig.wait(lambda: len(rig.published()) >= 4 or first.exit_code is not None, "some checkpoints more than are retained")
    rig.suspended(first)
    assert min(info.checkpoint for info in rig.checkpoints() if info.status is CheckpointStatus.RESTORABLE) > 1, (
        "some are retired"
    )
    of_first = rig.published()
    again = rig.started("--from", "0", "--yes")
    assert not rig.published() & of_first
    rig.finish(again)


def test_a_killed_executor_is_replaced_and_the_output_is_exact(make_rig: MakeRig) -> None:
    with StandaloneCluster(workers=2, cores=2, memory_mb=1024) as cluster:
        rig = make_rig(cluster)
        driver = rig.started()
        executors = driver.executors()
        assert len(executors) == 2
        rig.recovered_after(driver, executors[0].kill)
        rig.finish(driver)
