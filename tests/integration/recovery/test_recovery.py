from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from tests.integration.recovery.recovery_rig import Rig, plan
from tests.standalone_cluster import StandaloneCluster

from weir.cli.exit_codes import Exit
from weir.protocol.log_view import CheckpointStatus

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


def test_a_killed_slot_is_replaced_and_the_output_is_exact(make_rig: MakeRig) -> None:
    rig = make_rig()
    driver = rig.started()
    rig.recovered_after(driver, driver.slots()[0].kill)
    rig.finish(driver)


def test_a_replaced_slot_process_ends_without_effect_when_it_resumes(make_rig: MakeRig) -> None:
    rig = make_rig()
    driver = rig.started()
    slot = driver.slots()[-1]
    rig.recovered_after(driver, slot.suspend)
    if slot.is_running():
        slot.resume()
    rig.wait(lambda: not slot.is_running() or slot.status() == psutil.STATUS_ZOMBIE, "the end of the replaced slot process")
    rig.finish(driver)


def test_a_second_driver_continues_after_the_first_is_killed_during_a_checkpoint(make_rig: MakeRig) -> None:
    rig = make_rig()
    first = rig.started()
    rig.await_event(first, "checkpoint_triggered", after=first.log_bytes())
    first.handle.kill()
    rig.exit_code(first)
    second = rig.started()
    rig.finish(second)
    assert not [slot for slot in first.slots() if slot.is_running()]


def test_a_paused_driver_exits_as_superseded_when_it_resumes(make_rig: MakeRig) -> None:
    rig = make_rig()
    first = rig.started()
    rig.await_event(first, "checkpoint_triggered", after=first.log_bytes())
    first.handle.suspend()
    second = rig.started()
    first.handle.resume()
    assert rig.exit_code(first) == Exit.SUPERSEDED
    rig.finish(second)


def test_the_older_of_two_running_drivers_exits(make_rig: MakeRig) -> None:
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
    chosen, *abandoned, newest = [info.checkpoint for info in rig.checkpoints() if info.status is CheckpointStatus.RESTORABLE]
    published_by_first = rig.published()
    assert newest in published_by_first

    second = rig.started("--from", str(chosen), "--yes", "--retained", "100")
    rig.suspended(second)
    assert {checkpoint for checkpoint in rig.published() if checkpoint <= newest} == {
        one for one in published_by_first if one <= chosen
    }
    published_by_second = {checkpoint for checkpoint in rig.published() if checkpoint > newest}
    assert published_by_second

    third = rig.started("--from", str(newest), "--yes", "--retained", "100")
    assert rig.published() & published_by_second == set()
    assert published_by_first <= rig.published()
    assert [info.status for info in rig.checkpoints() if info.checkpoint in published_by_second] == [
        CheckpointStatus.ABANDONED
    ] * len([info for info in rig.checkpoints() if info.checkpoint in published_by_second])
    rig.finish(third)


def test_a_start_without_state_revokes_all_output_and_reads_all_input_again(make_rig: MakeRig) -> None:
    rig = make_rig()
    first = rig.started("--retained", "2")
    rig.wait(lambda: len(rig.published()) >= 4 or first.exit_code is not None, "the publication of four checkpoints")
    rig.suspended(first)
    assert min(info.checkpoint for info in rig.checkpoints() if info.status is CheckpointStatus.RESTORABLE) > 1, (
        "some checkpoints are retired"
    )
    published_by_first = rig.published()
    again = rig.started("--from", "0", "--yes")
    assert not rig.published() & published_by_first
    rig.finish(again)


def test_a_killed_executor_is_replaced_and_the_output_is_exact(make_rig: MakeRig) -> None:
    with StandaloneCluster(workers=2, cores=2, memory_mb=1024) as cluster:
        rig = make_rig(cluster)
        driver = rig.started()
        executors = driver.executors()
        assert len(executors) == 2
        rig.recovered_after(driver, executors[0].kill)
        rig.finish(driver)
