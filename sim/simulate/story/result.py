"""What comes out of a story, and how it compares with what the story expects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sim.check import Violation
from sim.check.judged import not_as_expected
from sim.protocol.events import Event
from sim.protocol.events.sentences import describe
from sim.protocol.replication import Replica
from sim.protocol.replication.reading import handed_on, readable_end
from sim.protocol.replication.snapshots.take import state_below
from sim.protocol.rules import Rules
from sim.simulate.story.expect import Claims
from sim.simulate.story.idle import IdleStep
from sim.simulate.story.joining import HeldBack

if TYPE_CHECKING:
    from sim.simulate.story.format import Story


class ReplicaView(NamedTuple):
    """How a replica looks at the end.

    Attributes:
        log: Its entries as `label@offset`.
        batches: The same with the leader epoch, `label@offset epoch N`, and ` horizon` behind it
            where the batch has a delete horizon.
        epochs: Its leader epoch cache: epoch and start offset of each entry.
        offsets: Their offsets.
        log_end_offset: Exclusive.
        high_watermark: Exclusive.
        log_start_offset: Inclusive.
        last_stable_offset: Where a consumer of committed records ends (exclusive).
        committed: The records that such a consumer is given, as `label@offset`.
        state: Key -> label of what the log below the high watermark folds to; key -> value with
            `state_machine: deltas`.
        up: Whether it is up.
    """

    log: list[str]
    batches: list[str]
    epochs: list[tuple[int, int]]
    offsets: list[int]
    log_end_offset: int
    high_watermark: int
    log_start_offset: int
    last_stable_offset: int
    committed: list[str]
    state: dict[str, str]
    up: bool

    def claimable(self, part: str) -> Any:
        """What there is under the short name that story files and `--json` use."""
        return getattr(self, _SHORT.get(part, part))

    def as_json(self) -> dict[str, Any]:
        """The view under the short names."""
        return {part: self.claimable(part) for part in _TOLD}


_SHORT = {
    "leo": "log_end_offset",
    "hw": "high_watermark",
    "start": "log_start_offset",
    "lso": "last_stable_offset",
}
_TOLD = ("log", "offsets", "leo", "hw", "start", "state", "up")


class StoryRun(NamedTuple):
    """What came out of a story.

    Attributes:
        story: What was run.
        violations: Of what the story judges, in order of detection; `at` is the number of the step.
        not_judged: Of what was looked at as well.
        replicas: By name, in order of creation.
        leader: Who was elected last.
        events: (step, event) of everything that happened.
        labels: The label of each record by its uid.
        moments: The replicas as each `moment` step noted them, by its name.
        idle: The steps that did nothing, of those that are marked so.
        reason: Which bound cut it off (`sim.bounds`), so that it is looked at no further; None =
            none did.
        answers: (step, text) of what was answered to fetches, reads and requests for votes.
        held: The steps that went by a high watermark that waits for who may join.
    """

    story: Story
    violations: tuple[Violation, ...]
    not_judged: tuple[Violation, ...]
    replicas: dict[str, ReplicaView]
    leader: str | None
    events: tuple[tuple[int, Event], ...]
    labels: Mapping[int, str]
    moments: Mapping[str, Mapping[str, ReplicaView]]
    idle: tuple[IdleStep, ...] = ()
    reason: str | None = None
    answers: tuple[tuple[int, str], ...] = ()
    held: tuple[HeldBack, ...] = ()

    @property
    def verdict(self) -> str:
        """`holds`, `violated`, or `inconclusive` when a bound was hit before any violation."""
        unviolated = "holds" if self.reason is None else "inconclusive"
        return "violated" if self.violations else unviolated

    @property
    def seen(self) -> tuple[Violation, ...]:
        """All violations, those of what is judged first."""
        return (*self.violations, *self.not_judged)

    @property
    def violated(self) -> list[str]:
        """Violated invariants in order of first detection."""
        return list(dict.fromkeys(violation.invariant for violation in self.violations))

    def differences(self) -> list[str]:
        """Where the run is not what the story expects; empty = expectation met.

        Of one that was cut off only what it did so far counts.
        """
        expect = self.story.expect
        ended = self.reason is None
        out = not_as_expected(self.violated, expect.violated, ended=ended)
        if not ended:
            return out
        out += self._not_idle()
        if expect.leader is not None and expect.leader != self.leader:
            out.append(f"leader is {self.leader}, expected {expect.leader}")
        out += _differences(self.replicas, expect.replicas)
        for moment, claims in expect.moments.items():
            out += [f"{moment}: {text}" for text in _differences(self.moments[moment], claims)]
        return out

    def _not_idle(self) -> Iterator[str]:
        """The steps that were meant to do nothing, and did something."""
        idle = {step.number for step in self.idle}
        for step in self.story.steps:
            if step.does_nothing and step.number not in idle:
                told = [describe(event) for number, event in self.events if number == step.number]
                did = ", ".join(told) or "something changed"
                yield f"step {step.number} ({step.line}) was meant to do nothing, and {did}"


def _differences(replicas: Mapping[str, ReplicaView], claimed: Claims) -> Iterator[str]:
    for name, claims in claimed.items():
        for part, claim in claims.items():
            have = replicas[name].claimable(part) if name in replicas else None
            if have != claim:
                yield f"replica {name}: {part} is {have}, expected {claim}"


def views_of(
    replicas: Mapping[str, Replica], rules: Rules, labels: Mapping[int, str]
) -> dict[str, ReplicaView]:
    """How all replicas look now, by name."""
    return {name: view_of(replica, rules, labels) for name, replica in replicas.items()}


def view_of(replica: Replica, rules: Rules, labels: Mapping[int, str]) -> ReplicaView:
    """How a replica looks now, in the words of a story."""
    log = replica.log
    entries: list[tuple[str, int]] = []
    batches: list[str] = []
    for batch in log.batches():
        held = [(labels[record.uid], record.offset) for record in batch.records]
        held = held or [("-", batch.last_offset)]
        entries += held
        horizon = "" if batch.delete_horizon_ms is None else " horizon"
        named = " ".join(f"{label}@{offset}" for label, offset in held)
        batches.append(f"{named} epoch {batch.epoch}{horizon}")
    state = state_below(replica, log.high_watermark, rules=rules)
    by_value = rules.snapshots.state_machine == "deltas"
    shown = {
        key: (state[key].value or "") if by_value else labels[state[key].uid]
        for key in sorted(state)
    }
    return ReplicaView(
        log=[f"{label}@{offset}" for label, offset in entries],
        batches=batches,
        epochs=[(entry.epoch, entry.start_offset) for entry in log.epochs.entries],
        offsets=[offset for _, offset in entries],
        log_end_offset=log.log_end_offset,
        high_watermark=log.high_watermark,
        log_start_offset=log.log_start_offset,
        last_stable_offset=readable_end(log, committed=True),
        committed=[f"{labels[uid]}@{offset}" for uid, offset in _committed(replica, rules)],
        state=shown,
        up=replica.up,
    )


def _committed(replica: Replica, rules: Rules) -> Iterator[tuple[int, int]]:
    """Uid and offset of what a new consumer of committed records is given."""
    log = replica.log
    start, end = log.log_start_offset, readable_end(log, committed=True)
    batches = [batch for batch in log.read(start) if batch.base_offset < end]
    for batch in handed_on(replica, batches, start, end, committed=True, rules=rules):
        for record in batch.records:
            if start <= record.offset < end:
                yield record.uid, record.offset
