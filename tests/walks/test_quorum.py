"""Random walks of five voters: no rule that keeps its promise breaks Raft's properties.

And each rule that breaks a promise does break one, so that the walks are known to get there.
"""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from sim.protocol.rules import rules_from
from tests.walks.quorum import VOTERS, Quorum

KRAFT = rules_from({"preset": "kraft"})

names = st.sampled_from(VOTERS)
groups = st.sets(names, min_size=2, max_size=5).map(sorted)


class Votes(RuleBasedStateMachine):
    """Elections, writes, fetches whose answers come late or twice, crashes."""

    under = KRAFT
    watched: str | None = None

    def __init__(self) -> None:
        super().__init__()
        self.quorum = Quorum(self.under)

    @rule(name=names, asked=groups)
    def campaign(self, name: str, asked: list[str]) -> None:
        self.quorum.campaign(name, asked)

    @rule(name=names, asked=groups)
    def take_over(self, name: str, asked: list[str]) -> None:
        """A new leader, and a round of fetches."""
        if self.quorum.campaign(name, asked, ahead=2):
            self.quorum.append(name)
            for other in asked:
                self.quorum.ask(other, name, most=None)
                self.quorum.deliver(-1)

    @rule(name=names)
    def append(self, name: str) -> None:
        self.quorum.append(name)

    @rule(name=names, source=names, most=st.sampled_from([None, 1]))
    def ask(self, name: str, source: str, most: int | None) -> None:
        self.quorum.ask(name, source, most=most)

    @rule(source=names, asked=groups)
    def replicate(self, source: str, asked: list[str]) -> None:
        """Two rounds, so that the leader learns how far the others are."""
        for _ in range(2):
            for name in asked:
                self.quorum.ask(name, source, most=None)
                self.quorum.deliver(-1)

    @rule(index=st.integers(0, 5), again=st.booleans())
    def deliver(self, index: int, *, again: bool) -> None:
        self.quorum.deliver(index, again=again)

    @rule(name=names, lose=st.integers(0, 2))
    def crash(self, name: str, lose: int) -> None:
        self.quorum.crash(name, lose=lose)

    @rule(name=names)
    def lose_the_tail(self, name: str) -> None:
        """A short outage of a leader, or of anybody else."""
        self.quorum.append(name)
        self.quorum.crash(name, lose=1)
        self.quorum.restart(name)
        self.quorum.append(name)

    @rule(name=names, source=names, asked=groups)
    def win_with_an_answer_on_its_way(self, name: str, source: str, asked: list[str]) -> None:
        self.quorum.ask(name, source, most=None)
        self.quorum.campaign(name, asked)
        self.quorum.append(name)
        self.quorum.deliver(-1)

    @rule(name=names, source=names, asked=groups)
    def an_older_answer_comes_last(self, name: str, source: str, asked: list[str]) -> None:
        self.quorum.append(source)
        self.quorum.ask(name, source, most=1)
        self.replicate(source, asked)
        self.quorum.ask(name, source, most=None)
        self.quorum.deliver(-1)
        self.quorum.deliver(-1)

    @rule()
    def restart(self) -> None:
        for name in VOTERS:
            self.quorum.restart(name)

    @invariant()
    def nothing_is_violated(self) -> None:
        found = [
            f"{each.invariant}: {each.sentence}"
            for each in self.quorum.checker.violations
            if self.watched in (None, each.invariant)
        ]
        assert not found, "; ".join(found)


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


@pytest.mark.parametrize("marker", [True, False], ids=["leader-change", "without"])
def test_voters_that_keep_their_promises_keep_raft_s_properties(*, marker: bool) -> None:
    class Kept(Votes):
        under = KRAFT.with_values({"leader_change_record": marker})

    walk(Kept, examples=60)


@pytest.mark.parametrize(
    ("broken", "violated"),
    [
        ({"vote_storage": "none"}, "election-safety"),
        ({"epoch_storage": "memory"}, "epoch-monotonic"),
        ({"leader_restart": "resumes"}, "offset-epoch-uniqueness"),
        ({"response_fencing": False}, "leader-append-only"),
        ({"high_watermark_update": "assign"}, "hw-monotonic"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_broken_promise_is_found(broken: dict[str, str | bool], violated: str) -> None:
    class Broken(Votes):
        under = KRAFT.with_values({"leader_change_record": False, **broken})
        watched = violated

    with pytest.raises(AssertionError, match=violated):
        walk(Broken, examples=800)
