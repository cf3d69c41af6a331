"""What each step does, as the page on stories says."""

import pytest

from sim.trace import LeaderElected, PrefixDeleted, SnapshotOffered, Truncated
from tests.story.running import high_watermark, log, log_end, run_steps, state

ALONE = {"replicas": ("1",)}
AB = """
elect 1 1
append 1 a A
append 1 b B
"""


def test_log_ends_are_exclusive_and_a_log_starts_at_zero() -> None:
    run = run_steps(AB, **ALONE)

    view = run.replicas["1"]
    assert (view.log, view.log_end_offset, view.high_watermark, view.log_start_offset) == (
        ["a@0", "b@1"],
        2,
        2,
        0,
    )


def test_labels_of_markers_empty_slots_and_leader_changes() -> None:
    steps = AB + "append 1 d D pid=7\nappend 1 marker=abort pid=7\nappend 1 marker=commit pid=8"

    run = run_steps(steps, rules={"leader_change_record": True}, **ALONE)
    assert log(run) == ["LC1@0", "a@1", "b@2", "d@3", "A:7@4", "C:8@5"]

    empty = run_steps("elect 1 1\nappend 1 a A hdr=2\nappend 1 b A hdr=1\ncompact 1",
                 rules={"strategy": "header", "fix": "empty_batch"}, **ALONE)  # fmt: skip
    assert log(empty) == ["a@0", "-@1"]


def test_state_is_the_fold_below_the_replica_s_own_high_watermark() -> None:
    steps = AB + "fetch 2 1"

    run = run_steps(steps, isr=("1",))
    assert state(run) == {"A": "a", "B": "b"}
    assert state(run_steps(steps + "\nappend 1 b2 B", isr=("1",)), "2") == {"A": "a", "B": "b"}
    assert state(run_steps(steps), "2") == {}


def test_state_leaves_out_deleted_keys_and_aborted_or_open_data() -> None:
    steps = (
        AB
        + """
append 1 a=null A tombstone=true
append 1 c C pid=7
append 1 marker=abort pid=7
append 1 d D pid=8
"""
    )
    assert state(run_steps(steps, **ALONE)) == {"B": "b"}
    assert state(run_steps(steps + "append 1 marker=commit pid=8", **ALONE)) == {"B": "b", "D": "d"}


def test_time_starts_at_zero_and_moves_by_advance_alone() -> None:
    steps = "elect 1 1\nappend 1 a A\nadvance 7\nappend 1 b B\nappend 1 c C ts=3"

    run = run_steps(steps, **ALONE)

    times = [event.batch.timestamp_ms for _, event in run.events if hasattr(event, "batch")]
    assert times == [0, 7, 3]


def test_append_with_an_epoch_is_carried_out_by_a_replica_that_leads_no_more() -> None:
    run = run_steps(AB + "elect 2 2\nsync 1 2\nappend 1 x X\nappend 1 z Z epoch=1")

    assert log(run)[-1].startswith("z@")
    assert not any(entry.startswith("x@") for entry in log(run))


def test_elect_starts_the_epoch_at_the_candidate_s_log_end() -> None:
    run = run_steps(AB + "elect 1 4", **ALONE)

    elected = [event for _, event in run.events if isinstance(event, LeaderElected)]
    assert [(event.epoch, event.epoch_start_offset) for event in elected] == [(1, 0), (4, 2)]


def test_elect_forgets_all_positions() -> None:
    before = AB + "sync 2 1\nelect 1 2\nappend 1 c C"

    assert high_watermark(run_steps(before)) == 2
    assert high_watermark(run_steps(before + "\nfetch 2 1\nfetch 2 1")) == 3


@pytest.mark.parametrize(
    ("votes", "leader"),
    [("2", "3"), ("2,4", "3"), ("4", "1"), ("3", "1"), ("1,4", "1")],
)
def test_votes_need_a_majority_with_the_candidate_of_live_voters_that_are_not_ahead(
    votes: str, leader: str
) -> None:
    """1 is ahead of 3; 4 is down; 3 of 5 would do, and here 2 of 3: 4 and 5 are no voters."""
    steps = f"elect 1 1\nappend 1 a A\ncrash 4\nelect 3 2 votes={votes}"

    run = run_steps(steps, replicas=("1", "2", "3", "4"), voters=("1", "2", "3"))

    assert run.leader == leader


def test_elect_from_isr_is_nothing_for_a_replica_out_of_sync() -> None:
    steps = AB + "sync 2 1\nisr 1\nelect_from_isr 2 2\nappend 2 c C"

    run = run_steps(steps)
    assert (run.leader, log(run, "2")) == ("1", ["a@0", "b@1"])
    assert run_steps(steps.replace("isr 1\n", "")).leader == "2"


def test_follow_cuts_under_the_two_modes_that_cut_there() -> None:
    steps = "elect 1 1\nappend 1 a A\nsync 2 1\nappend 1 b B\nelect 2 2\nfollow 1 2"

    for mode, left in (
        ("none", 2),
        ("high_watermark", 1),
        ("epoch_kip101", 1),
        ("epoch_kip279", 1),
        ("epoch_diverging", 2),
    ):
        assert log_end(run_steps(steps, rules={"truncation": mode})) == left


def test_fetch_copies_at_most_max_records_verbatim() -> None:
    assert log(run_steps(AB + "fetch 2 1 max=1"), "2") == ["a@0"]
    assert log(run_steps(AB + "fetch 2 1"), "2") == ["a@0", "b@1"]


def test_fetch_records_the_position_before_it_copies() -> None:
    assert high_watermark(run_steps(AB + "fetch 2 1")) == 0
    assert high_watermark(run_steps(AB + "fetch 2 1\nfetch 2 1")) == 2


def test_a_follower_s_high_watermark_is_the_leader_s_up_to_its_own_log_end() -> None:
    run = run_steps(AB + "fetch 2 1 max=1", isr=("1",))

    assert (high_watermark(run), high_watermark(run, "2")) == (2, 1)


def test_a_follower_s_high_watermark_never_falls_with_a_fetch() -> None:
    """2 knows more than the new leader 3 does."""
    steps = AB + "sync 2 1\nfetch 3 1\nsync 2 1\nelect 3 2\nfetch 2 3"

    run = run_steps(steps, replicas=("1", "2", "3"), isr=("1", "2"))

    assert (high_watermark(run, "3"), high_watermark(run, "2")) == (2, 2)
    behind = run_steps(steps.replace("fetch 3 1", "fetch 3 1 max=1"), replicas=("1", "2", "3"))
    assert high_watermark(behind, "2") >= high_watermark(behind, "3")


def test_a_fetch_below_the_log_start_is_answered_with_a_snapshot() -> None:
    run = run_steps(AB + "snapshot 1 2\ndelete_prefix 1 1\nfetch 2 1", isr=("1",))

    offered = [event for _, event in run.events if isinstance(event, SnapshotOffered)]
    assert [(event.fetch_offset, event.end_offset, event.epoch) for event in offered] == [(0, 2, 1)]
    assert log_end(run, "2") == 0


def test_push_appends_a_copy_at_the_follower_s_own_log_end() -> None:
    run = run_steps(AB + "push 2 1 b\npush 2 1 a")

    assert log(run, "2") == ["b@0", "a@1"]


def test_compact_up_to_an_offset_leaves_the_rest_alone() -> None:
    steps = "elect 1 1\nappend 1 a A\nappend 1 b A\nappend 1 c A\n"

    assert log(run_steps(steps + "compact 1 upto=2", **ALONE)) == ["b@1", "c@2"]
    assert log(run_steps(steps + "compact 1", **ALONE)) == ["c@2"]


def test_coordinate_takes_the_minimum_and_blocks_while_one_never_reported() -> None:
    steps = """
elect 1 1
append 1 k K
append 1 k=null K tombstone=true
append 1 z Z
sync 2 1
compact 1
{}
coordinate
advance 100
compact 1
"""
    rules = {"tombstone_removal": "coordinated"}

    assert "k=null@1" in log(run_steps(steps.format(""), rules=rules))
    assert "k=null@1" not in log(run_steps(steps.format("compact 2"), rules=rules))
    unreachable = steps.format("compact 2\ncrash 2")
    assert "k=null@1" in log(run_steps(unreachable, rules=rules))
    known = steps.format("compact 2\ncoordinate\ncrash 2")
    assert "k=null@1" not in log(run_steps(known, rules=rules))


def test_coordinate_raises_the_reachable_replicas_reports_and_never_falls() -> None:
    """2 lost its log after it had reported: the bound stays, and 1 may still remove."""
    steps = """
elect 1 1
append 1 k K
append 1 k=null K tombstone=true
append 1 z Z
sync 2 1
compact 1
compact 2
coordinate
wipe 2
coordinate
advance 100
compact 1
"""
    assert log(run_steps(steps, rules={"tombstone_removal": "coordinated"})) == ["z@2"]


def test_crash_loses_slots_from_the_end_and_the_log_end_with_them() -> None:
    steps = "elect 1 1\nappend 1 a A\nappend 1 b B\nappend 1 c C\n"

    run = run_steps(steps + "crash 1 lose=2", **ALONE)
    assert (log(run), log_end(run), high_watermark(run), run.replicas["1"].up) == (
        ["a@0"],
        1,
        1,
        False,
    )
    assert log_end(run_steps(steps + "crash 1", **ALONE)) == 3
    assert log_end(run_steps(steps + "crash 1 lose=9", **ALONE)) == 0


def test_wipe_empties_a_replica_and_brings_it_up() -> None:
    view = run_steps(AB + "sync 2 1\ncrash 2\nwipe 2").replicas["2"]

    assert (view.log, view.log_end_offset, view.high_watermark, view.up) == ([], 0, 0, True)


def test_a_snapshot_is_the_state_below_its_end() -> None:
    steps = AB + "append 1 a=null A tombstone=true\nsnapshot 1 {}\ndelete_prefix 1 {}"

    assert state(run_steps(steps.format(2, 2), **ALONE)) == {"B": "b"}
    assert state(run_steps(steps.format(3, 3), **ALONE)) == {"B": "b"}
    run = run_steps(steps.format(2, 2).replace("append 1 a=null A tombstone=true\n", ""), **ALONE)
    assert (state(run), log(run)) == ({"A": "a", "B": "b"}, [])


def test_delete_prefix_moves_the_start_and_drops_older_snapshots() -> None:
    steps = AB + "snapshot 1 1\nsnapshot 1 2\ndelete_prefix 1 2\nfetch 2 1"

    run = run_steps(steps, isr=("1",))
    offered = [event for _, event in run.events if isinstance(event, SnapshotOffered)]
    assert (run.replicas["1"].log_start_offset, log(run), offered[0].end_offset) == (2, [], 2)


@pytest.mark.parametrize(
    ("steps", "moved"),
    [
        ("elect 1 1\ndelete_prefix 1 3", []),
        (AB + "snapshot 1 2\ndelete_prefix 1 2\ndelete_prefix 1 3", [2]),
        (AB + "snapshot 1 2\ndelete_prefix 1 3", [2]),
        (AB + "delete_prefix 1 0", []),
    ],
)
def test_where_nothing_is_left_to_delete_no_prefix_goes(steps: str, moved: list[int]) -> None:
    run = run_steps(steps, isr=("1",), **ALONE)

    deleted = [event for _, event in run.events if isinstance(event, PrefixDeleted)]
    assert [event.log_start_offset for event in deleted] == moved
    assert "prefix-deletion-safety" not in run.violated


def test_a_snapshot_comes_in_chunks_of_keys_and_is_installed_with_the_last() -> None:
    steps = AB + "append 1 c C\nsnapshot 1 3\ndelete_prefix 1 3\nfetch 2 1\n"

    half = run_steps(steps + "fetch_snapshot 2 1 chunk=2", isr=("1",)).replicas["2"]
    assert (half.log_end_offset, half.log_start_offset, half.state) == (0, 0, {})
    whole = run_steps(steps + "fetch_snapshot 2 1 chunk=2\nfetch_snapshot 2 1 chunk=2", isr=("1",))
    view = whole.replicas["2"]
    assert (view.log_end_offset, view.high_watermark, view.log_start_offset) == (3, 3, 3)
    assert view.state == {"A": "a", "B": "b", "C": "c"}


def test_a_consumer_reads_to_the_high_watermark_and_stays_there() -> None:
    steps = AB + "consume c 1\nappend 1 d D\nconsume c 1 upto=2\nconsume c 1"

    run = run_steps(steps, **ALONE)

    reads = [
        (event.start, event.end, [each.key for each in event.records])
        for _, event in run.events
        if type(event).__name__ == "Consumed"
    ]
    assert reads == [(0, 2, ["A", "B"]), (2, 2, []), (2, 3, ["D"])]


@pytest.mark.parametrize("reads", ["consume", "read_to_end"])
def test_a_consumer_is_told_where_the_log_of_a_new_leader_parts_from_what_it_read(
    reads: str,
) -> None:
    steps = AB + "sync 2 1\nisr 1\nappend 1 c C\nconsume c 1\nelect 2 2\nappend 2 d D\n"

    run = run_steps(steps + f"{reads} c 2", rules={"consumer_validation": "epoch"})

    moved = [event for _, event in run.events if type(event).__name__ == "ConsumerReset"]
    assert [(e.replica, e.position, e.cause) for e in moved] == [("2", 2, "log_truncated")]


def test_expect_tombstone_gone_asks_live_replicas_only() -> None:
    steps = "elect 1 1\nappend 1 k=null K tombstone=true\n{}expect_tombstone_gone K"

    (found,) = run_steps(steps.format(""), **ALONE).not_judged
    assert found.invariant == "tombstone-eventually-removed"
    assert run_steps(steps.format("crash 1\n"), **ALONE).seen == ()


def test_quiesce_syncs_everybody_unless_told_not_to_and_check_never_does() -> None:
    assert log(run_steps(AB + "quiesce"), "2") == ["a@0", "b@1"]
    assert log(run_steps(AB + "quiesce nosync=true"), "2") == []
    assert log(run_steps(AB + "check"), "2") == []


def test_quiesce_goes_round_twice_so_that_the_first_learns_what_the_last_completed() -> None:
    run = run_steps(AB + "quiesce", replicas=("1", "2", "3"))

    assert [high_watermark(run, name) for name in ("1", "2", "3")] == [2, 2, 2]


def test_truncations_below_the_log_end_are_told_others_are_not() -> None:
    steps = "elect 1 1\nappend 1 a A\nsync 2 1\n{}elect 2 2\nfetch 1 2"

    for extra, cuts in (("", 0), ("append 1 b B\n", 1)):
        run = run_steps(steps.format(extra))
        assert len([event for _, event in run.events if isinstance(event, Truncated)]) == cuts


def test_a_removed_replica_takes_its_disk_along_and_leaves_the_in_sync_set() -> None:
    behind = "elect 1 1\nappend 1 a A"

    assert high_watermark(run_steps(behind)) == 0
    run = run_steps(behind + "\nremove_replica 2")
    assert (list(run.replicas), high_watermark(run)) == (["1"], 1)


def test_a_snapshot_is_not_judged_any_more_when_its_replica_has_left() -> None:
    steps = "elect 1 1\nappend 1 a A\nfetch 2 1\nsnapshot 2 1\nremove_replica 2\nappend 1 b B"

    assert run_steps(steps).violated == ["snapshot-bound"]
