"""What stands behind the producers: who checks before it sends, and who is whose next instance."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Applications:
    """What applications do beside sending, both rejected by KIP-280 in favour of versions.

    `check_before_send`: each reads the topic to its end before it sends a record, and leaves out
    what has no higher version than the record of its key that it finds. `instances`: pairs of
    producers (the later one, the one before it) with the same `transactional.id`: the later one has
    the next epoch of the same producer id, and fences the other (KIP-98).
    """

    check_before_send: bool = False
    instances: tuple[tuple[int, int], ...] = ()

    def identity_of(self, producer: int) -> tuple[int, int]:
        """The producer id and the epoch of a producer."""
        before, epoch = dict(self.instances), 0
        while producer in before:
            producer, epoch = before[producer], epoch + 1
        return producer, epoch
