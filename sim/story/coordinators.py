"""Coordinators of a story: an election begins one, a step loads it, another one asks it."""

from __future__ import annotations

from collections.abc import Mapping

from sim.replication.coordinator import (
    Coordinator,
    Loaded,
    answer,
    apply_committed,
    begin_loading,
    finish_loading,
    load_some,
)
from sim.replication.messages import CoordinatorRequest
from sim.replication.replica import Replica
from sim.rules import Rules
from sim.trace import Event


class StoryCoordinators:
    """The state machine of each replica that was elected, as far as it has loaded."""

    __slots__ = ("_rules", "_running")

    def __init__(self, rules: Rules) -> None:
        """Nobody was elected."""
        self._rules = rules
        self._running: dict[str, Coordinator] = {}

    def elected(self, replica: Replica) -> None:
        """A new leader has loaded nothing yet."""
        coordinator = begin_loading(replica)
        if coordinator is not None and self._rules.coordinator.coordinator != "none":
            self._running[replica.name] = coordinator

    def load(
        self, coordinator: Coordinator, replica: Replica, *, records: int | None
    ) -> Loaded | None:
        """It reads so many records in all, or the log to its end; None = it is not done."""
        if records is not None:
            load_some(coordinator, replica, records)
            return None
        return finish_loading(coordinator, replica, rules=self._rules)

    def ask(self, key: str, replica: Replica) -> tuple[Event, ...]:
        """A client asks for a key."""
        request = CoordinatorRequest("client", key)
        return answer(replica, self.current(replica), request, rules=self._rules).events

    def follow(self, replicas: Mapping[str, Replica]) -> None:
        """What was committed since is in their memory."""
        for name in self._running:
            replica = replicas.get(name)
            coordinator = None if replica is None else self.current(replica)
            if replica is not None and coordinator is not None:
                apply_committed(coordinator, replica, rules=self._rules)

    def current(self, replica: Replica) -> Coordinator | None:
        """That of the epoch that the replica leads; None = it leads none, or is down."""
        leads = replica.up and replica.leadership is not None
        return self._running.get(replica.name) if leads else None
