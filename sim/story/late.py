"""Answers of a story that are on their way, the oldest first, per follower and leader."""

from __future__ import annotations

from collections import deque

from sim.replication.messages import FetchResponse, FetchSnapshotResponse

Answer = FetchResponse | FetchSnapshotResponse


class LateAnswers:
    """They wait until a step lets them arrive; those to a replica that went down never do."""

    def __init__(self) -> None:
        """None is on its way."""
        self._waiting: dict[tuple[str, str], deque[Answer]] = {}

    def put(self, follower: str, leader: str, answer: Answer) -> None:
        """One more from `leader` to `follower`."""
        self._waiting.setdefault((follower, leader), deque()).append(answer)

    def take(self, follower: str, leader: str) -> Answer | None:
        """The oldest from `leader` to `follower`; None where there is none."""
        waiting = self._waiting.get((follower, leader))
        return waiting.popleft() if waiting else None

    def lose_those_to(self, replica: str) -> None:
        """Nobody is there to take them."""
        for names in [names for names in self._waiting if names[0] == replica]:
            del self._waiting[names]

    def lose_all_of(self, replica: str) -> None:
        """Neither to it nor from it will any arrive."""
        for names in [names for names in self._waiting if replica in names]:
            del self._waiting[names]
