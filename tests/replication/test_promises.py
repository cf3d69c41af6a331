"""What a replica remembers of elections, and what it does with answers of the past."""

import pytest

from sim.log import LogConfig
from sim.log.epochs import EpochEnd
from sim.replication import Replica
from sim.replication.elections import is_free, votes_for, wins
from sim.replication.follower import receive_fetch
from sim.replication.messages import Answer, FetchResponse
from sim.replication.replica import come_back, crash
from sim.rules import Rules
from sim.trace import HighWatermarkMoved, Truncated
from tests.replication.replicas import RULES, batch, leading


def replica(name: str, *epochs: int) -> Replica:
    """A replica with one record per epoch."""
    made = Replica(name)
    for offset, epoch in enumerate(epochs):
        made.log.append(batch(offset, epoch=epoch), now_ms=0)
    return made


@pytest.mark.parametrize(
    ("storage", "kept", "after_restart"),
    [("disk", False, False), ("memory", False, True), ("none", True, True)],
)
def test_a_vote_binds_as_long_as_it_is_remembered(
    storage: str, *, kept: bool, after_restart: bool
) -> None:
    rules = Rules.of(vote_storage=storage)
    voter = Replica("r3")
    votes_for(voter, 4, "r1")

    assert is_free(voter, 4, "r1", rules=rules)
    assert is_free(voter, 5, "r2", rules=rules)
    assert is_free(voter, 4, "r2", rules=rules) is kept
    crash(voter)
    come_back(voter, rules=rules)
    assert is_free(voter, 4, "r2", rules=rules) is after_restart


def test_neither_a_leader_nor_who_has_seen_a_higher_epoch_is_free() -> None:
    assert not is_free(leading(epoch=3), 3, "r2", rules=RULES)
    assert not is_free(leading(epoch=3), 2, "r2", rules=RULES)


def test_a_candidate_that_voted_for_another_does_not_win_its_epoch() -> None:
    candidate, voter = Replica("r1"), Replica("r2")
    votes_for(candidate, 2, "r3")

    assert wins(candidate, [voter], voter_count=3, epoch=2, rules=Rules()) is None
    assert wins(candidate, [voter], voter_count=3, epoch=3, rules=Rules()) == [voter]


@pytest.mark.parametrize(("storage", "epoch"), [("disk", 7), ("memory", 1)])
def test_an_epoch_in_memory_is_that_of_the_log_after_a_restart(storage: str, epoch: int) -> None:
    made = replica("r1", 1)
    made.sees(7)
    crash(made)
    [event] = come_back(made, rules=Rules.of(epoch_storage=storage))

    assert made.epoch == epoch
    assert event._asdict()["epoch"] == epoch


@pytest.mark.parametrize(("rule", "leads"), [("resigned", False), ("resumes", True)])
def test_a_restarted_leader_has_resigned_unless_it_resumes(rule: str, *, leads: bool) -> None:
    made = leading(records=1)
    crash(made)
    come_back(made, rules=Rules.of(leader_restart=rule))

    assert (made.leadership is not None) is leads


@pytest.mark.parametrize(("fenced", "end"), [(True, 2), (False, 1)])
def test_a_late_diverging_answer_cuts_only_without_response_fencing(
    *, fenced: bool, end: int
) -> None:
    rules = Rules.of(response_fencing=fenced)
    made = replica("r2", 1, 3)
    late = FetchResponse(Answer.DIVERGING, "r1", 2, 1, diverging=EpochEnd(1, 1))
    events = receive_fetch(made, late, rules=rules, now_ms=0).events

    assert made.log.log_end_offset == end
    assert [event.__class__ for event in events] == ([] if fenced else [Truncated])


@pytest.mark.parametrize("fenced", [True, False])
def test_late_records_are_refused_by_the_log_in_any_case(*, fenced: bool) -> None:
    made = replica("r2", 1, 1)
    late = FetchResponse(Answer.RECORDS, "r1", 1, 1, (batch(1),))

    assert receive_fetch(made, late, rules=Rules.of(response_fencing=fenced), now_ms=0).events == []


@pytest.mark.parametrize(("rule", "high_watermark"), [("max", 2), ("assign", 1)])
def test_a_lower_high_watermark_of_the_leader_counts_only_when_assigned(
    rule: str, high_watermark: int
) -> None:
    made = replica("r2", 1, 1)
    made.log.high_watermark = 2
    answer = FetchResponse(Answer.RECORDS, "r1", 1, 2, high_watermark=1)
    events = receive_fetch(
        made, answer, rules=Rules.of(high_watermark_update=rule), now_ms=0
    ).events

    assert made.log.high_watermark == high_watermark
    moved = HighWatermarkMoved("r2", 1, leading=False)
    assert events == ([moved] if rule == "assign" else [])


@pytest.mark.parametrize(("keeps", "high_watermark"), [(False, 1), (True, 2)])
def test_a_lost_tail_lowers_the_high_watermark_unless_it_is_kept(
    *, keeps: bool, high_watermark: int
) -> None:
    made = Replica("r1", LogConfig(keeps_high_watermark=keeps))
    for offset in range(2):
        made.log.append(batch(offset), now_ms=0)
    made.log.high_watermark = 2
    [event] = crash(made, lost_batches=1)

    assert event._asdict()["high_watermark"] == made.log.high_watermark == high_watermark
