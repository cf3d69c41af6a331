"""The oracle: committed history, lineage, holes and their reasons, offsets committed twice."""

from sim.check.replica_view import EMPTY, HOLE
from sim.log import data_batch
from sim.trace import (
    Appended,
    Event,
    HighWatermarkMoved,
    LeaderElected,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SnapshotInstalled,
    Truncated,
)
from tests.check.events import (
    appended,
    batch,
    checked,
    cleaned,
    cluster,
    committed,
    copied,
    marker,
    record,
    removed,
    superseded,
)

TWO = cluster("r1", "r2")


def test_history_holds_what_was_there_when_the_leader_committed_it() -> None:
    history = checked(
        [*TWO, *appended("r1", batch(0, "a"), batch(1, "b")), committed("r1", 1)]
    ).history

    assert history.committed == [100]


def test_a_follower_s_high_watermark_commits_nothing() -> None:
    first = batch(0, "a")
    follower = committed("r2", 1)._replace(leading=False)

    history = checked(
        [*TWO, *appended("r1", first), copied("r2", "r1", 0, first), follower]
    ).history

    assert history.committed == []
    assert history.replicas["r2"].high_watermark == 1


def test_history_keeps_a_record_that_cleaning_took_before_the_next_commit() -> None:
    """It is read from the lineage of the leader's log, never from what is left on the disk."""
    events = [
        *cluster("r1"),
        *appended("r1", batch(0, "k"), batch(1, "k")),
        cleaned("r1", 2, superseded(0, "k", 1), hw=0),
        committed("r1", 2),
    ]

    history = checked(events).history

    assert history.committed == [100, 101]
    assert history.replicas["r1"].slots == [HOLE, 101]


def test_a_follower_inherits_the_lineage_of_a_gap_it_copies() -> None:
    events = [
        *TWO,
        *appended("r1", batch(0, "k"), batch(1, "k")),
        cleaned("r1", 2, superseded(0, "k", 1), hw=2),
        copied("r2", "r1", 0, batch(1, "k")),
        LeaderElected("r2", 2, 2, ("r2",), ("r2",)),
        committed("r2", 2),
    ]

    history = checked(events).history

    assert history.replicas["r2"].slots == [HOLE, 101]
    assert history.committed == [100, 101]


def test_an_emptied_batch_is_an_empty_slot_and_a_dropped_one_a_hole() -> None:
    events: list[Event] = [
        *cluster("r1"),
        *appended("r1", batch(0, "k"), batch(1, "k", None)),
        committed("r1", 2),
        cleaned("r1", 2, superseded(0, "k", 1), removed(1, "k", "tombstone"), emptied=(1,)),
    ]
    assert checked(events).history.replicas["r1"].slots == [HOLE, EMPTY]

    events.append(cleaned("r1", 2, dropped=(1,)))
    assert checked(events).history.replicas["r1"].slots == [HOLE, HOLE]


def test_an_offset_committed_twice_keeps_its_first_record() -> None:
    events = [
        *TWO,
        *appended("r1", batch(0, "a")),
        committed("r1", 1),
        LeaderElected("r2", 2, 0, ("r2",), ("r2",)),
        *appended("r2", batch(0, "b", uid=7, epoch=2)),
        committed("r2", 1),
    ]

    history = checked(events).history

    assert history.committed == [100]
    assert history.committed_twice == {0: 7}
    assert history.recommitted == [(0, 7)]


def test_the_same_record_committed_again_by_the_next_leader_is_no_second_commit() -> None:
    first = batch(0, "a")
    events = [
        *TWO,
        *appended("r1", first),
        copied("r2", "r1", 0, first),
        committed("r1", 1),
        LeaderElected("r2", 2, 1, ("r2",), ("r2",)),
        committed("r2", 1),
    ]

    assert checked(events).history.committed_twice == {}


def test_the_committed_winner_follows_the_strategy_and_the_verdict_of_transactions() -> None:
    undecided: list[Event] = [
        *cluster("r1"),
        *appended("r1", batch(0, "k"), batch(1, "k", pid=7)),
        committed("r1", 2),
    ]
    for commit, winner in ((True, 101), (False, 100)):
        decided = [*undecided, *appended("r1", marker(2, 7, commit=commit)), committed("r1", 3)]

        assert checked(undecided).history.winners == {"k": 100}
        assert checked(decided).history.winners == {"k": winner}


def test_absence_is_excused_by_a_committed_winner_only() -> None:
    events: list[Event] = [
        *cluster("r1"),
        *appended("r1", batch(0, "k"), batch(1, "k")),
        committed("r1", 1),
    ]
    before = checked(events).history
    after = checked([*events, committed("r1", 2)]).history

    assert not before.may_be_absent(100)
    assert after.may_be_absent(100)
    assert not after.may_be_absent(101)


def test_absence_is_excused_by_a_winner_that_the_leader_holds_as_long_as_it_holds_it() -> None:
    events: list[Event] = [
        *cluster("r1", "r2"),
        *appended("r1", batch(0, "k"), batch(1, "k")),
        committed("r1", 1),
    ]
    lost = [*events, ReplicaCrashed("r1", 1, 1)]

    assert checked(events).queries.may_be_absent_now(100)
    assert not checked(lost).queries.may_be_absent_now(100)


def test_tombstones_markers_aborted_and_unkeyed_records_may_be_absent() -> None:
    events = [
        *cluster("r1"),
        *appended("r1", batch(0, "k", None), batch(1, None), batch(2, "d", pid=7)),
        *appended("r1", marker(3, 7, commit=False)),
        committed("r1", 4),
    ]

    history = checked(events).history

    assert [history.may_be_absent(uid) for uid in (100, 101, 102, 103)] == [True] * 4


def test_a_disk_forgets_what_was_cut_lost_or_replaced() -> None:
    base: list[Event] = [*cluster("r1"), *appended("r1", batch(0, "a"), batch(1, "b"))]
    cut = checked([*base, Truncated("r1", 1, 2, 0, 0, leading=False)]).history.replicas["r1"]
    lost = checked([*base, ReplicaCrashed("r1", 1, 0)]).history.replicas["r1"]
    wiped = checked([*base, ReplicaWiped("r1", "a new disk")]).history.replicas["r1"]
    installed = checked(
        [*base, SnapshotInstalled("r1", 5, 1, (), 2, 0, leading=False)]
    ).history.replicas["r1"]

    assert cut.slots == lost.slots == [100]
    assert not lost.up
    assert wiped.slots == []
    assert (installed.log_start_offset, installed.log_end_offset, installed.high_watermark) == (
        5,
        5,
        5,
    )


def test_a_restart_tells_where_the_log_ends_and_where_it_ended() -> None:
    events = [
        *cluster("r1"),
        *appended("r1", batch(0, "a"), batch(1, "b")),
        ReplicaCrashed("r1", 2, 0),
        ReplicaRestarted("r1", 1, 0),
    ]

    view = checked(events).history.replicas["r1"]

    assert (view.log_end_offset_before, view.log_end_offset, view.up) == (2, 1, True)


def test_a_sentence_names_a_record_by_key_value_and_offset() -> None:
    events = [
        *cluster("r1"),
        *appended("r1", batch(0, "k", "old"), batch(1, "k", None), marker(2, 7, commit=True)),
    ]

    describe = checked(events).queries.describe

    assert [str(describe(uid)) for uid in (100, 101, 102, 0)] == [
        "k=old (offset 0)",
        "tombstone of k (offset 1)",
        "COMMIT marker of producer 7 (offset 2)",
        "nothing",
    ]


WIDE = data_batch((record(1, "b"), record(2, "c")), epoch=1)


def test_a_batch_that_straddles_the_target_of_a_cut_is_gone_as_a_whole() -> None:
    cut = Truncated("r1", 2, 3, 0, 0, leading=False, lowest=1)
    events = [*cluster("r1"), *appended("r1", batch(0, "a")), Appended("r1", WIDE), cut]
    view = checked(events).history.replicas["r1"]

    assert view.slots == [100, HOLE]
    assert view.lineage == [100, 0]


def test_what_a_straddling_batch_took_with_it_is_missing_when_it_was_committed() -> None:
    cut = Truncated("r1", 2, 3, 3, 0, leading=False, lowest=1)
    commit = HighWatermarkMoved("r1", 3, leading=True)
    events = [*cluster("r1"), *appended("r1", batch(0, "a")), Appended("r1", WIDE), commit, cut]
    queries = checked(events).queries

    assert queries.first_missing(queries.history.replicas["r1"], 2, twice_counts=True) == 1
