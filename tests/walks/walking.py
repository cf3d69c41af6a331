"""What the random walks through the pure core share: watched replicas, and how a walk is run."""

from collections.abc import Iterable, Sequence

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from sim.check import Checker
from sim.check.violation import Violation
from sim.protocol.events import Event, ReplicaAdded
from sim.protocol.replication import Replica


class Watched:
    """Empty replicas under a checker that is told each event."""

    def __init__(self, names: Iterable[str], checker: Checker) -> None:
        self.checker = checker
        self.replicas = {name: Replica(name) for name in names}
        self.events = 0
        self.uids = 0
        for name in self.replicas:
            self._emit([ReplicaAdded(name)])

    @property
    def violations(self) -> list[Violation]:
        """What the checker has found."""
        return self.checker.violations

    def _emit(self, events: Sequence[Event]) -> None:
        for event in events:
            self.events += 1
            self.checker.on(self.events, event)


def walk(machine: type[RuleBasedStateMachine], *, examples: int) -> None:
    """Run a machine, the same walks everywhere; failures are not shrunk."""
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
