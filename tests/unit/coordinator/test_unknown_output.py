"""Published output that the job log does not contain, for example after the restore of an older checkpoint directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.connectors.files.output_harness import Output, Permit, take
from tests.unit.coordinator.test_sinks import JobWithSinks

from weir.connectors.base import Committer
from weir.coordinator.start import FirstNumbers, check_published_output
from weir.errors import ConfigError, SinkError, Superseded
from weir.protocol.ids import Attempt, CheckpointId, Generation, OperatorUid
from weir.protocol.log_view import SKIPPED_IDS_MAX

OUT = OperatorUid("op")


class JobWithOutput:
    """A job whose sink ``op`` publishes to ``out``. The output of a checkpoint is one row with the id of the checkpoint."""

    def __init__(self, root: Path) -> None:
        self.output = Output(str(root / "out"))
        self.log = JobWithSinks()

    def start(self, generation: int, restored: int | None, first: int) -> None:
        self.log.start(generation, restored, first)
        self.output.committer.claim(job="job", sink="op", history=self.log.log.read()[0].history)
        self.output.abort_after(restored or 0, before_generation=generation)

    def run(self, generation: int, *checkpoints: int) -> None:
        for checkpoint in checkpoints:
            committables = self.output.stage([checkpoint], checkpoint, generation=generation)
            self.log.complete(generation, checkpoint)
            self.output.committer.commit(Permit(CheckpointId(checkpoint), Generation(generation)), committables)

    def backup(self) -> dict[str, bytes]:
        return dict(self.log.storage._objects)

    def restore_backup(self, backup: dict[str, bytes]) -> None:
        self.log = JobWithSinks()
        self.log.storage._objects.update(backup)

    def check(self, *, revoke_unknown: bool = False) -> FirstNumbers:
        committers: dict[OperatorUid, Committer] = {OUT: self.output.committer}
        return check_published_output(self.log.storage, "job", committers, revoke_unknown=revoke_unknown)


@pytest.fixture
def job(tmp_path: Path) -> JobWithOutput:
    """Generation 1 has published checkpoints 1 to 5. The job log is a backup that was made after checkpoint 3."""
    job = JobWithOutput(tmp_path)
    job.start(1, None, 1)
    job.run(1, 1, 2, 3)
    backup = job.backup()
    job.run(1, 4, 5)
    assert job.check() == FirstNumbers(), "the log contains all published output"
    job.restore_backup(backup)
    return job


def test_a_start_from_an_older_backup_of_the_job_log_is_refused_and_nothing_is_changed(job: JobWithOutput) -> None:
    before = sorted(Path(job.output.out).rglob("*"))
    with pytest.raises(ConfigError) as error:
        job.check()
    message = str(error.value)
    assert "its sinks have published output that the job log in memory:// does not contain" in message
    assert f"(sink 'op' in {job.output.out}: checkpoints 4 to 5 of generation 1)" in message
    assert "The log ends at generation 1 with checkpoint 3, so it is older than the output" in message
    assert (
        "Nothing was changed. Restore the newer checkpoint directory. If this directory is lost, start the job again with --revoke-unknown-output"
        in message
    )
    assert sorted(Path(job.output.out).rglob("*")) == before


def test_unknown_output_is_detected_even_if_a_consumer_has_removed_it(job: JobWithOutput) -> None:
    take(job.output.out, directories=True)
    with pytest.raises(ConfigError, match="checkpoints 4 to 5 of generation 1"):
        job.check()


def test_unknown_output_is_revoked_on_request_and_its_generation_and_checkpoint_ids_are_not_reused(job: JobWithOutput) -> None:
    (Path(job.output.out) / "weir_checkpoint=4" / "part-c00000004-g1-w0000.parquet").unlink()
    first = job.check(revoke_unknown=True)
    assert (first.generation, first.checkpoint) == (2, 5 + 1 + SKIPPED_IDS_MAX)
    assert first.notes[0].startswith("Revoked published output that the job log does not contain (sink 'op' in ")
    assert (
        "Sink 'op' could not revoke 1 record (1 file) of checkpoint 4, because a consumer has removed the files" in first.notes[1]
    )
    assert job.output.visible() == [1, 2, 3]
    with pytest.raises(ConfigError, match="checkpoints 4 to 5 of generations 1 to 2"):
        job.check()  # until the generation is in the log, every start finds the unknown output
    again = job.check(revoke_unknown=True)
    assert again.generation == 3
    job.start(3, 3, again.checkpoint)
    assert job.check() == FirstNumbers(), "the log now contains a higher generation and checkpoint id than the output"
    job.run(3, again.checkpoint)
    assert job.output.visible() == [1, 2, 3, again.checkpoint]
    with pytest.raises(Superseded):
        job.output.abort_after(5, before_generation=1)


def test_output_that_an_unknown_generation_revoked_is_published_again(tmp_path: Path) -> None:
    """The job log loses a rollback, so the checkpoints that this rollback abandoned are on the current branch again."""
    job = JobWithOutput(tmp_path)
    job.start(1, None, 1)
    job.run(1, 1, 2, 3)
    backup = job.backup()
    (Path(job.output.out) / "weir_checkpoint=3" / "part-c00000003-g1-w0000.parquet").unlink()
    job.log.start(2, 1, 101)
    job.output.revoke([], to=1, generation=2)
    job.output.abort_after(1, before_generation=2)
    job.run(2, 101)
    assert job.output.visible() == [1, 101]
    job.restore_backup(backup)
    _, missing = job.check(revoke_unknown=True).notes
    assert job.output.visible() == [1, 2]
    assert (
        "Sink 'op' did not publish 1 record (1 file) of checkpoint 3 again, because a consumer had removed the files" in missing
    )


def test_an_unknown_generation_is_detected_even_if_it_has_published_nothing(tmp_path: Path) -> None:
    job = JobWithOutput(tmp_path)
    job.start(1, None, 1)
    backup = job.backup()
    job.start(2, None, 101)
    job.restore_backup(backup)
    with pytest.raises(ConfigError, match=r"out: generation 2\). The log ends at generation 1 with no checkpoint"):
        job.check()


def test_output_that_an_older_driver_publishes_during_the_check_counts_as_known(job: JobWithOutput) -> None:
    log = job.log
    job.restore_backup(job.backup())

    class Publishing(Committer):
        """The older driver completes and publishes checkpoint 4 before the output is listed."""

        def published(self, *, job: str, sink: str, history: str | None = None) -> frozenset[tuple[Generation, CheckpointId]]:
            log.complete(1, 4)
            return frozenset({(Generation(1), CheckpointId(4))})

        commit = abort_after = None  # type: ignore[assignment]  # not called

    assert check_published_output(log.storage, "job", {OUT: Publishing()}, revoke_unknown=False) == FirstNumbers()


def test_the_output_of_another_job_is_not_reported_as_unknown(job: JobWithOutput) -> None:
    with pytest.raises(SinkError, match="belongs to sink 'op' of job 'job'"):
        check_published_output(job.log.storage, "job", {OperatorUid("other"): job.output.committer}, revoke_unknown=True)
    empty = JobWithSinks()
    assert check_published_output(empty.storage, "job", {OUT: job.output.committer}, revoke_unknown=False) == FirstNumbers()
    assert job.output.visible() == [1, 2, 3, 4, 5]
    assert Attempt(Generation(1)) < Attempt(Generation(1), 1) < Attempt(Generation(2))
