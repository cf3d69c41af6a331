"""What Kafka's `LogCleanerManager` is asked in the same way, whichever release it is of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import jpype

from tests.conformance.disk_log import KafkaPass


class CleanerManager(ABC):
    """The manager of the logs in one folder, with its file of checkpoints. To be closed.

    A release sets the manager itself, its map of logs by partition, and the folder as Java has it.
    """

    _manager: Any
    _logs: Any
    _folder: Any

    def add(self, log: Any) -> None:
        """Let it know a log, or the same one after it was opened again."""
        self._logs.put(log.topicPartition(), log)

    def lower_checkpoint(self, log: Any) -> None:
        """What `LogManager` asks for after a truncation that reaches what may have been cleaned."""
        base = log.activeSegment().baseOffset()
        self._manager.maybeTruncateCheckpoint(self._folder, log.topicPartition(), base)

    def set_in_progress(self, log: Any) -> None:
        """Let it believe that somebody cleans a log."""
        self._manager.abortAndPauseCleaning(log.topicPartition())

    def set_uncleanable(self, log: Any) -> None:
        """Let it know that a pass over a log ended in an unexpected error."""
        self._manager.markPartitionUncleanable(log.parentDir(), log.topicPartition())

    @abstractmethod
    def select(self, now_ms: int) -> Any | None:
        """The log that is due before all others, as `LogToClean`; None = none is.

        It is in progress from then on; checkpoints that are invalid are written anew.
        """

    def done(self, log: Any, end: int) -> None:
        """The pass over the selected log ended, at `end`."""
        self._manager.doneCleaning(log.topicPartition(), self._folder, end)

    def clean_selected(
        self, log: Any, now_ms: int, run: Callable[[Any], KafkaPass]
    ) -> KafkaPass | None:
        """Run a pass over the only log it knows, if it selects that; None = it does not.

        A pass that fails leaves the log uncleanable, and its checkpoint where it was.
        """
        selected = self.select(now_ms)
        if selected is None:
            return None
        end = int(selected.firstDirtyOffset())
        try:
            done = run(selected)
            end = done.next_dirty_offset
        except jpype.JException:
            self.set_uncleanable(log)
            raise
        finally:
            self.done(log, end)
        return done
