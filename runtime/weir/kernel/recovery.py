"""From a failure until the job runs again: how often, how soon, how long it took."""

from __future__ import annotations

from weir.kernel.restarts import RestartConfig, RestartStrategy


class Recovery:
    """``on_failure`` for each failure, ``on_running`` once the job runs again, ``on_progress`` per completed checkpoint."""

    def __init__(self, config: RestartConfig) -> None:
        self._restarts = RestartStrategy(config)
        self._failed_at_ms: int | None = None
        self._not_before_ms = 0
        self._begun = 0

    @property
    def restarts(self) -> int:
        """Begun since the last completed checkpoint."""
        return self._begun

    def on_failure(self, now_ms: int) -> bool:
        """False: give up. The next generation may be deployed once ``may_deploy``."""
        delay_ms = self._restarts.next_delay_ms()
        if delay_ms is None:
            return False
        if self._failed_at_ms is None:
            self._failed_at_ms = now_ms
        self._begun += 1
        self._not_before_ms = now_ms + delay_ms
        return True

    def may_deploy(self, now_ms: int) -> bool:
        return now_ms >= self._not_before_ms

    def on_running(self, now_ms: int) -> int | None:
        """How long the job was down in ms, from the first failure on; None: it comes from no failure."""
        failed_at_ms, self._failed_at_ms = self._failed_at_ms, None
        return None if failed_at_ms is None else now_ms - failed_at_ms

    def on_progress(self) -> None:
        self._restarts.on_progress()
        self._begun = 0
