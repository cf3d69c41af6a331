"""What comes out of a story, and how it compares with what the story expects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sim.check import Violation
from sim.check.checker import story_invariants
from sim.replication import Replica
from sim.replication.snapshots.take import state_below
from sim.rules import Rules
from sim.story.format import Story
from sim.trace import Event


class ReplicaView(NamedTuple):
    """How a replica looks at the end.

    Attributes:
        log: Its entries as `label@offset`.
        offsets: Their offsets.
        log_end_offset: Exclusive.
        high_watermark: Exclusive.
        log_start_offset: Inclusive.
        state: Key -> label of what the log below the high watermark folds to; key -> value with
            `state_machine: deltas`.
        up: Whether it is up.
    """

    log: list[str]
    offsets: list[int]
    log_end_offset: int
    high_watermark: int
    log_start_offset: int
    state: dict[str, str]
    up: bool

    def as_json(self) -> dict[str, Any]:
        """The view under the short names that story files and `--json` use."""
        return {
            "log": self.log,
            "offsets": self.offsets,
            "leo": self.log_end_offset,
            "hw": self.high_watermark,
            "start": self.log_start_offset,
            "state": self.state,
            "up": self.up,
        }


class StoryRun(NamedTuple):
    """What came out of a story.

    Attributes:
        story: What was run.
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
        wanted = set(expect.violated)
        checked = wanted | set(
            story_invariants(liveness=False) if expect.checked is None else expect.checked
        )
        found = set(self.violated) & checked
        out = [f"{name} was violated, not expected" for name in sorted(found - wanted)]
        out += [f"{name} was not violated, but expected" for name in sorted(wanted - found)]
        if expect.leader is not None and expect.leader != self.leader:
            out.append(f"leader is {self.leader}, expected {expect.leader}")
        for name, claims in expect.replicas.items():
            view = self.replicas[name].as_json() if name in self.replicas else {}
            for part, claim in claims.items():
                have = view.get(part)
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
    by_value = rules.snapshots.state_machine == "deltas"
    shown = {
        key: (state[key].value or "") if by_value else labels[state[key].uid]
        for key in sorted(state)
    }
    return ReplicaView(
        log=[f"{label}@{offset}" for label, offset in entries],
        offsets=[offset for _, offset in entries],
        log_end_offset=log.log_end_offset,
        high_watermark=log.high_watermark,
        log_start_offset=log.log_start_offset,
        state=shown,
        up=replica.up,
    )
