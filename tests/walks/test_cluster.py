"""Random walks through the pure core: what a missing fix allows, and what a fix has to prevent.

Elections are clean, disks lose nothing, a disk is replaced only out of sync: whatever is violated
here is violated by rules alone. What the walks found is told in scenarios/findings/.
"""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from sim.protocol.rules import Rules
from tests.walks.cluster import NAMES, OFFSET_SAFETY, Cluster
from tests.walks.walking import walk

KAFKA = Rules.of(commit="isr", strategy="header", follower_position="read_end")

replicas = st.sampled_from(NAMES)
versions = st.sampled_from([(1,), (2, 1), (0, 1), (2, 1, 0)])


class CalmWalk(RuleBasedStateMachine):
    """Writes, replication, cleaning and leader migrations; after each step nothing is violated."""

    under = KAFKA
    watched: tuple[str, ...] = OFFSET_SAFETY

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(self.under, self.watched)

    @rule(key=st.sampled_from("ab"), versions=versions)
    def append(self, key: str, versions: tuple[int, ...]) -> None:
        for version in versions:
            self.cluster.append(key, version)

    @rule()
    def replicate(self) -> None:
        for _ in range(2):
            for name in self.cluster.isr:
                self.cluster.fetch(name)

    @rule(name=replicas)
    def fall_behind(self, name: str) -> None:
        self.cluster.shrink(name)

    @rule()
    def clean_leader(self) -> None:
        self.cluster.clean(self.cluster.leading)

    @rule(name=replicas)
    def migrate(self, name: str) -> None:
        """A live replica catches up, joins if it may, and leads if it is in sync."""
        for _ in range(3):
            self.cluster.fetch(name)
        self.cluster.expand(name)
        if name in self.cluster.isr and self.cluster.replicas[name].up:
            self.cluster.elect(name)

    @invariant()
    def nothing_is_violated(self) -> None:
        found = self.cluster.violations
        assert not found, "; ".join(f"{each.invariant}: {each.sentence}" for each in found)


class Walk(CalmWalk):
    """And crashes, new disks, single fetches, cleaning of followers, and rest."""

    @rule(name=replicas, most=st.sampled_from([None, 1]))
    def fetch(self, name: str, most: int | None) -> None:
        self.cluster.fetch(name, most=most)

    @rule(name=replicas)
    def catch_up(self, name: str) -> None:
        for _ in range(3):
            self.cluster.fetch(name)
        self.cluster.expand(name)

    @rule(name=replicas)
    def clean(self, name: str) -> None:
        self.cluster.clean(name)

    @rule(name=replicas)
    def replace_disk(self, name: str) -> None:
        self.cluster.replace(name)

    @rule(name=replicas)
    def crash(self, name: str) -> None:
        self.cluster.crash(name)

    @rule()
    def restart(self) -> None:
        for name in NAMES:
            self.cluster.restart(name)

    @precondition(lambda self: self.cluster.acting is not None)
    @rule()
    def come_to_rest(self) -> None:
        self.cluster.come_to_rest()


class WithoutFix(CalmWalk):
    """Only reuse of a committed offset counts."""

    watched = ("no-offset-reuse",)


class WithEmptyBatch(Walk):
    under = KAFKA.with_values({"fix": "empty_batch"})


class CalmWithEmptyBatch(CalmWalk):
    under = KAFKA.with_values({"fix": "empty_batch"})


class WithLeoRetentionOfCommittedTails(Walk):
    """A log is cleaned only while everything in it is committed."""

    under = KAFKA.with_values({"fix": "leo_retention"})

    @rule(name=replicas)
    def clean(self, name: str) -> None:
        log = self.cluster.replicas[name].log
        if log.high_watermark == log.log_end_offset:
            self.cluster.clean(name)

    @rule()
    def clean_leader(self) -> None:
        self.clean(self.cluster.leading)


def test_without_a_fix_a_committed_offset_is_given_again() -> None:
    with pytest.raises(AssertionError, match="no-offset-reuse"):
        walk(WithoutFix, examples=2000)


@pytest.mark.parametrize(
    "machine", [CalmWithEmptyBatch, WithEmptyBatch, WithLeoRetentionOfCommittedTails]
)
def test_offsets_are_safe(machine: type[CalmWalk]) -> None:
    walk(machine, examples=80)
