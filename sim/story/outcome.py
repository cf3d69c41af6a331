"""What comes out of a story, and how it compares with what the story expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sim.check import Violation
from sim.check.checker import story_invariants
from sim.replication import Replica
from sim.replication.state import state_below
from sim.rules import Rules
from sim.story.format import Story
from sim.trace import Event


@dataclass(frozen=True, slots=True)
class ReplicaView:
    """How a replica looks at the end: log entries as `label@offset`, state as key -> label.

    With `state_machine: deltas` the state is key -> value.
    """

    log: list[str]
    offsets: list[int]
    leo: int
    hw: int
    start: int
    state: dict[str, str]
    up: bool


@dataclass(frozen=True, slots=True)
class StoryRun:
    """What came out of a story.

    Attributes:
        story: What was told.
        violations: In order of detection; `at` is the number of the step.
        replicas: By name, in order of creation.
        leader: Who was elected last.
        events: (step, event) of everything that happened.
        labels: The label of each record by its uid.
    """

    story: Story
    violations: tuple[Violation, ...]
    replicas: dict[str, ReplicaView]
    leader: str | None
    events: tuple[tuple[int, Event], ...]
    labels: Mapping[int, str]

    @property
    def verdict(self) -> str:
        """`holds` or `violated`."""
        return "violated" if self.violations else "holds"

    @property
    def violated(self) -> list[str]:
        """Violated invariants in order of first detection."""
        return list(dict.fromkeys(violation.invariant for violation in self.violations))

    def differences(self) -> list[str]:
        """Where the run is not what the story expects; empty = expectation met."""
        expect = self.story.expect
        checked = (
            set(story_invariants(liveness=False)) if expect.checked is None else set(expect.checked)
        )
        found = set(self.violated) & checked
        wanted = set(expect.violated)
        out = [f"{name} was violated, not expected" for name in sorted(found - wanted)]
        out += [f"{name} was not violated, but expected" for name in sorted(wanted - found)]
        if expect.leader is not None and expect.leader != self.leader:
            out.append(f"leader is {self.leader}, expected {expect.leader}")
        for name, claims in expect.replicas.items():
            view = self.replicas.get(name)
            for part, claim in claims.items():
                have = None if view is None else getattr(view, part, None)
                if part != "note" and have != claim:
                    out.append(f"replica {name}: {part} is {have}, expected {claim}")
        return out


def views_of(
    replicas: Mapping[str, Replica], rules: Rules, labels: Mapping[int, str]
) -> dict[str, ReplicaView]:
    """How all replicas look now, by name."""
    return {name: view_of(replica, rules, labels) for name, replica in replicas.items()}


def view_of(replica: Replica, rules: Rules, labels: Mapping[int, str]) -> ReplicaView:
    """How a replica looks now, in the words of a story."""
    log = replica.log
    entries: list[tuple[str, int]] = []
    for batch in log.batches():
        entries += [(labels[record.uid], record.offset) for record in batch.records]
        if not batch.records:
            entries.append(("-", batch.last_offset))
    state = state_below(replica, log.high_watermark, rules=rules)
    by_value = rules.state_machine == "deltas"
    shown = {
        key: (state[key].value or "") if by_value else labels[state[key].uid]
        for key in sorted(state)
    }
    return ReplicaView(
        log=[f"{label}@{offset}" for label, offset in entries],
        offsets=[offset for _, offset in entries],
        leo=log.log_end_offset,
        hw=log.high_watermark,
        start=log.log_start_offset,
        state=shown,
        up=replica.up,
    )
