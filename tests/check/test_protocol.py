"""Raft's properties: what a core with a mistake would tell, and near misses."""

from sim.trace import (
    Acknowledged,
    Event,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    PositionRecorded,
    Pushed,
    ReplicaCrashed,
    ReplicaWiped,
    Truncated,
)
from tests.check.events import (
    appended,
    at_rest,
    batch,
    cluster,
    committed,
    copied,
    violations_of,
)

A, B = batch(0, "a"), batch(1, "b")
BASE: list[Event] = [*cluster("r1", "r2"), *appended("r1", A, B)]


def follows(high_watermark: int) -> HighWatermarkMoved:
    """r2 takes over a high watermark."""
    return HighWatermarkMoved("r2", high_watermark, leading=False)


def test_a_high_watermark_above_the_log_end_is_not_within_the_log() -> None:
    base = [*BASE, copied("r2", "r1", 0, A)]

    assert len(violations_of("hw-within-log", [*base, follows(2)])) == 1
    assert violations_of("hw-within-log", [*base, follows(1)]) == []


def test_a_high_watermark_that_was_not_clamped_after_a_lost_tail_is_found() -> None:
    assert len(violations_of("hw-within-log", [*BASE, ReplicaCrashed("r1", 1, 2)])) == 1
    assert violations_of("hw-within-log", [*BASE, ReplicaCrashed("r1", 1, 1)]) == []


def test_a_high_watermark_that_is_assigned_and_not_raised_goes_back() -> None:
    base = [*BASE, copied("r2", "r1", 0, A, B), follows(2)]

    [sentence] = violations_of("hw-monotonic", [*base, follows(0)])
    assert "back from 2 to 0" in sentence
    assert violations_of("hw-monotonic", [*base, follows(2)]) == []


def test_a_high_watermark_may_start_over_after_a_cut_a_wipe_or_an_old_checkpoint() -> None:
    base = [*BASE, copied("r2", "r1", 0, A, B), follows(2)]
    again = copied("r2", "r1", 0, A, B)

    for lowered in (
        [Truncated("r2", 0, 2, 2, 0, leading=False), again],
        [ReplicaWiped("r2", "a new disk"), again],
        [ReplicaCrashed("r2", 2, 0)],
    ):
        assert violations_of("hw-monotonic", [*base, *lowered, follows(1)]) == []


def test_a_leader_that_cuts_its_log_is_found_and_a_follower_is_not() -> None:
    leading = Truncated("r1", 1, 2, 0, 0, leading=True)

    assert len(violations_of("leader-append-only", [*BASE, leading])) == 1
    assert violations_of("leader-append-only", [*BASE, leading._replace(leading=False)]) == []


def test_one_epoch_has_one_leader() -> None:
    second = LeaderElected("r2", 1, 0, ("r2",), ("r2",))

    assert len(violations_of("election-safety", [*BASE, second])) == 1
    assert violations_of("election-safety", [*BASE, second._replace(epoch=2)]) == []
    again = LeaderElected("r1", 1, 2, ("r1",), ("r1",))
    assert violations_of("election-safety", [*BASE, again]) == []


def test_epochs_do_not_fall_from_one_offset_to_the_next() -> None:
    newer, older = batch(0, "a", epoch=2), batch(1, "b", epoch=1)
    base = [*cluster("r1"), *appended("r1", newer)]

    assert len(violations_of("epoch-monotonic", [*base, *appended("r1", older)])) == 1
    same = batch(1, "b", epoch=2)
    assert violations_of("epoch-monotonic", [*base, *appended("r1", same)]) == []


def test_a_position_above_the_follower_s_log_end_is_not_sound() -> None:
    base = [*BASE, copied("r2", "r1", 0, A)]

    assert (
        len(violations_of("follower-position-sound", [*base, PositionRecorded("r1", "r2", 2)])) == 1
    )
    assert violations_of("follower-position-sound", [*base, PositionRecorded("r1", "r2", 1)]) == []


def test_a_member_that_joins_has_everything_that_was_ever_committed() -> None:
    """Also what the present leader does not know to be committed."""
    base = [
        *cluster("r1", "r2", "r3", isr=("r1", "r2")),
        *appended("r1", A, B),
        copied("r2", "r1", 0, A, B),
        copied("r3", "r1", 0, A),
        committed("r1", 2),
        LeaderElected("r2", 2, 2, ("r1", "r2"), ("r1", "r2", "r3")),
    ]
    joins = IsrChanged("r2", ("r1", "r2", "r3"), "r3")

    [sentence] = violations_of("committed-replicated", [*base, joins])
    assert "r3, in-sync replica, log end offset 1, lacks committed offset 1" in sentence
    caught_up = [*base, copied("r3", "r2", 1, B), joins]
    assert violations_of("committed-replicated", caught_up) == []
    by_decree = [*base, joins._replace(joined=None)]
    assert violations_of("committed-replicated", by_decree) == []


def test_the_set_of_a_deposed_leader_counts_no_more() -> None:
    """The controller may have agreed to it before it chose another leader."""
    base = [
        *cluster("r1", "r2", "r3"),
        *appended("r1", A),
        copied("r2", "r1", 0, A),
        LeaderElected("r2", 2, 1, ("r2",), ("r1", "r2", "r3")),
    ]
    late = IsrChanged("r1", ("r1", "r3"), None)
    commits = [committed("r2", 1)]

    assert violations_of("committed-replicated", [*base, late, *commits]) == []
    now = IsrChanged("r2", ("r2", "r3"), None)
    assert len(violations_of("committed-replicated", [*base, now, *commits])) == 1
    later = LeaderElected("r3", 1, 1, ("r1", "r2", "r3"), ("r1", "r2", "r3"))
    assert violations_of("committed-replicated", [*base, later, *commits]) == []
    admitted = late._replace(joined="r3")
    assert violations_of("committed-replicated", [*base, *commits, now, admitted]) == []


def test_two_records_of_one_offset_and_epoch_do_not_match() -> None:
    other = batch(0, "x", uid=7)
    base = [*cluster("r1", "r2"), *appended("r1", A)]

    assert len(violations_of("log-matching", [*base, *appended("r2", other)])) == 1
    newer = batch(0, "x", uid=7, epoch=2)
    assert violations_of("log-matching", [*base, *appended("r2", newer)]) == []


def test_logs_that_share_a_record_agree_below_it() -> None:
    other = batch(0, "x", uid=7, epoch=2)
    base = [*cluster("r1", "r2"), *appended("r1", A, B), *appended("r2", other)]

    assert len(violations_of("log-matching", [*base, copied("r2", "r1", 1, B)])) == 1


def test_a_pushed_copy_at_another_offset_is_the_same_record_twice() -> None:
    moved = B._replace(base_offset=0, last_offset=0, records=(B.records[0]._replace(offset=0),))

    assert len(violations_of("record-offset-uniqueness", [*BASE, Pushed("r2", "r1", moved)])) == 1
    assert violations_of("record-offset-uniqueness", [*BASE, Pushed("r2", "r1", A)]) == []


def test_replicas_are_compared_with_the_leader_at_rest_and_not_before() -> None:
    other = batch(0, "x", uid=7, epoch=2)
    base = [*BASE, *appended("r2", other)]

    assert violations_of("replica-convergence", base) == []
    assert len(violations_of("replica-convergence", [*base, at_rest("r1")])) == 1
    assert violations_of("replica-convergence", [*base, at_rest(None)]) == []


def test_a_write_that_was_acknowledged_early_and_is_not_committed_in_the_end_is_found() -> None:
    told = [Acknowledged("r1", -1, -1, offset, offset, 1, "1") for offset in (0, 1)]
    lost = [*BASE, *told, committed("r1", 1), at_rest("r1")]
    kept = [*BASE, *told, committed("r1", 2), at_rest("r1")]

    [sentence] = violations_of("acknowledged-kept", lost)
    assert sentence == "r1 acknowledged b=v (offset 1), which was never committed."
    assert violations_of("acknowledged-kept", kept) == []


def test_a_write_that_was_acknowledged_as_committed_is_not_what_acks_1_risks() -> None:
    told = Acknowledged("r1", -1, -1, 1, 1, 1, "all")

    assert violations_of("acknowledged-kept", [*BASE, told, at_rest("r1")]) == []
