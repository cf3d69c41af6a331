"""The fine print on compaction, the oracle and consumers, sentence by sentence."""

import pytest

from tests.story.running import log, log_end, run_steps

ALONE = {"replicas": ("1",)}
HEADER = {"strategy": "header"}
DELETED = "elect 1 1\nappend 1 k K\nappend 1 k=null K tombstone=true\n"
ABORTED = "elect 1 1\nappend 1 d D pid=7\nappend 1 marker=abort pid=7\n"
LOSER = "elect 1 1\nappend 1 a A hdr=2\nappend 1 b A hdr=1\n"


# Compaction.


def test_empty_batch_protects_the_offset_below_the_bound_if_a_slot_is_there() -> None:
    rules = HEADER | {"fix": "empty_batch"}

    assert log(run_steps(LOSER + "compact 1", rules=rules, **ALONE)) == ["a@0", "-@1"]
    later = LOSER + "append 1 c C\ncompact 1 upto=2"
    assert log(run_steps(later, rules=rules, **ALONE)) == ["a@0", "-@1", "c@2"]


def test_an_older_empty_slot_goes_in_a_pass_with_a_higher_bound_and_not_before() -> None:
    rules = HEADER | {"fix": "empty_batch"}
    steps = LOSER + "compact 1\ncompact 1\n{}compact 1"

    assert log(run_steps(steps.format(""), rules=rules, **ALONE)) == ["a@0", "-@1"]
    assert log(run_steps(steps.format("append 1 c C\n"), rules=rules, **ALONE)) == ["a@0", "c@2"]


def test_leo_retention_protects_the_highest_slot_of_the_log_not_of_the_round() -> None:
    rules = HEADER | {"fix": "leo_retention"}

    assert log(run_steps(LOSER + "compact 1", rules=rules, **ALONE)) == ["a@0", "b@1"]
    later = LOSER + "append 1 c C\ncompact 1 upto=2"
    assert log(run_steps(later, rules=rules, **ALONE)) == ["a@0", "c@2"]


@pytest.mark.parametrize("fix", ["leo_retention", "empty_batch"])
@pytest.mark.parametrize(
    ("steps", "last", "emptied"),
    [
        (DELETED + "compact 1\nadvance 100\ncompact 1", "k=null@1", "-@1"),
        (ABORTED + "compact 1\ncompact 1\nadvance 100\ncompact 1", "A:7@1", "-@1"),
    ],
)
def test_both_fixes_protect_tombstones_and_markers(
    fix: str, steps: str, last: str, emptied: str
) -> None:
    run = run_steps(steps, rules={"fix": fix}, **ALONE)

    assert log(run)[-1] == (last if fix == "leo_retention" else emptied)


def test_aborted_data_at_the_end_of_a_round_is_protected_too() -> None:
    steps = ABORTED + "compact 1 upto=1"

    assert log(run_steps(steps, rules={"fix": "empty_batch"}, **ALONE)) == ["-@0", "A:7@1"]
    assert log(run_steps(steps, **ALONE)) == ["A:7@1"]


def test_replacement_by_an_empty_slot_counts_as_removal() -> None:
    """An emptied tombstone is gone for the replica that needs it."""
    steps = DELETED + "fetch 2 1 max=1\ncompact 1\nadvance 100\ncompact 1"

    run = run_steps(steps, isr=("1",), rules={"fix": "empty_batch"})
    assert log(run)[-1] == "-@1"
    assert "tombstone-safety" in run.violated


def test_with_a_dirty_map_nothing_dirty_goes_because_of_something_clean() -> None:
    steps = "elect 1 1\nappend 1 a2 A hdr=2\ncompact 1\nappend 1 a1 A hdr=1\ncompact 1"

    run = run_steps(steps, rules=HEADER | {"map_range": "dirty"}, **ALONE)
    assert log(run) == ["a2@0", "a1@1"]


@pytest.mark.parametrize(
    ("removal", "goes"),
    [
        ("horizon", True),
        ("immediate", True),
        ("last_modified", True),
        ("leo_gated", True),
        ("never", True),
        ("coordinated", False),
    ],
)
def test_markers_use_the_plain_horizon_but_wait_for_coordination(removal: str, goes: bool) -> None:
    steps = """
elect 1 1
append 1 d D pid=7
append 1 marker=abort pid=7
append 1 z Z
compact 1
compact 1
advance 100
compact 1
"""
    run = run_steps(steps, rules={"tombstone_removal": removal}, **ALONE)
    assert ("A:7@1" not in log(run)) is goes


@pytest.mark.parametrize("passes", [1, 2])
def test_a_marker_stays_while_its_pass_saw_data_and_while_its_horizon_lies_ahead(
    passes: int,
) -> None:
    steps = "elect 1 1\nappend 1 d D pid=7\nappend 1 marker=abort pid=7\nappend 1 z Z\n"

    early = run_steps(steps + "compact 1\n" * passes + "advance 99\ncompact 1", **ALONE)
    assert "A:7@1" in log(early)


def test_leo_gated_counts_replicas_that_are_down_and_new_ones() -> None:
    steps = DELETED + "{}compact 1\nadvance 100\ncompact 1"
    rules = {"tombstone_removal": "leo_gated"}

    assert log(run_steps(steps.format(""), rules=rules, **ALONE)) == []
    for extra in ("add_replica 2\n", "add_replica 2\ncrash 2\n"):
        assert log(run_steps(steps.format(extra), rules=rules, **ALONE)) == ["k=null@1"]


def test_last_record_without_survivors_puts_the_log_end_at_the_log_start() -> None:
    rules = {"leo_source": "last_record"}
    steps = DELETED + "{}compact 1\nadvance 100\ncompact 1"

    assert log_end(run_steps(steps.format(""), rules=rules, **ALONE)) == 0
    prefix = "snapshot 1 1\ndelete_prefix 1 1\n"
    assert log_end(run_steps(steps.format(prefix), rules=rules, **ALONE)) == 1


def test_last_record_is_recomputed_at_restart() -> None:
    """A follower copied nothing above the hole at 1; its counter is 1 before and after."""
    steps = LOSER + "compact 1\ncrash 1\nrestart 1"

    assert log_end(run_steps(steps, rules=HEADER, **ALONE)) == 2
    assert log_end(run_steps(steps, rules=HEADER | {"leo_source": "last_record"}, **ALONE)) == 1


def test_the_reported_clean_offset_is_lowered_by_truncation() -> None:
    """2 was clean up to 2, then loses its tail: the bound is 1."""
    steps = """
elect 1 1
append 1 z Z
append 1 k=null K tombstone=true
append 1 y Y
sync 2 1
compact 1
compact 2
{}
coordinate
advance 100
compact 1
"""
    rules = {"tombstone_removal": "coordinated"}

    assert "k=null@1" not in log(run_steps(steps.format(""), rules=rules))
    assert "k=null@1" in log(run_steps(steps.format("crash 2 lose=2\nrestart 2"), rules=rules))


# Oracle.


def test_history_is_what_was_last_written_even_if_the_leader_holds_a_hole_there() -> None:
    """The loser was removed before it was committed; its place in history is kept."""
    steps = LOSER + "compact 1\nsync 2 1\nquiesce"

    run = run_steps(steps, rules=HEADER | {"cleaner_bound": "leo", "follower_position": "read_end"})
    assert "committed-never-lost" not in run.violated
    assert "materialized-state-equivalence" not in run.violated


def test_an_offset_committed_twice_is_reported_once_and_exempt_afterwards() -> None:
    steps = """
elect 1 1
append 1 a A
elect 2 2
append 2 b B
quiesce
check
quiesce
"""
    run = run_steps(steps, isr=("1",))

    told_of = [each.invariant for each in run.violations]
    assert sorted(told_of) == [
        "leader-completeness",
        "no-offset-reuse",
        "no-truncation-below-hw",
        "state-machine-safety",
    ]


def test_hole_justified_judges_the_leader_s_record_as_well() -> None:
    """1 has a justified hole at 1; the leader 2 holds another record there."""
    steps = (
        LOSER
        + """
compact 1
elect 2 2
append 2 x X hdr=1
append 2 y Y hdr=1
check
"""
    )
    run = run_steps(steps, isr=("1",), rules=HEADER)
    assert "hole-justified" in run.violated


def test_leader_completeness_needs_the_log_end_above_even_a_superseded_offset() -> None:
    steps = LOSER + "sync 2 1\ncompact 1\ncrash 2 lose=1\nrestart 2\nelect 2 2"

    run = run_steps(steps, rules=HEADER)
    assert "leader-completeness" in run.violated
    assert "committed-never-lost" not in run_steps(steps + "\ncheck", rules=HEADER).violated


def test_in_majority_mode_a_majority_having_it_is_enough() -> None:
    steps = "elect 1 1\nappend 1 a A\nsync 2 1\n"

    run = run_steps(steps, replicas=("1", "2", "3"), rules={"commit": "majority"})
    assert "committed-replicated" not in run.violated


def test_replicas_that_are_down_count_where_live_is_not_said() -> None:
    """The tombstone is needed by a disk that is down; its state is not compared."""
    steps = DELETED + "fetch 2 1 max=1\ncrash 2\ncompact 1\nadvance 100\ncompact 1\nquiesce"

    run = run_steps(steps, isr=("1",))
    assert run.violated == ["tombstone-safety"]


def test_without_a_live_leader_the_last_leader_s_disk_is_the_measure() -> None:
    steps = """
elect 1 1
append 1 a A
sync 2 1
elect 2 2
append 2 x X
append 1 y Y
crash 2
quiesce
"""
    assert "replica-convergence" in run_steps(steps, rules={"fencing": True}).violated


# Consumers.


def test_reads_from_any_replica_count_for_the_visibility_of_a_delete() -> None:
    steps = DELETED + "append 1 z Z\nfetch 2 1\n{}\ncompact 1\ncompact 1\nconsume c 1"
    rules = {"delete_retention_ms": 0}

    other = "fetch 2 1\nconsume c 2 upto=1"
    run = run_steps(steps.format(other), isr=("1",), rules=rules)
    assert "consumer-tombstone-visibility" in run.violated
    stranger = run_steps(steps.format(other.replace("c 2", "d 2")), isr=("1",), rules=rules)
    assert "consumer-tombstone-visibility" not in stranger.violated


def test_a_consumer_that_is_late_may_miss_the_delete() -> None:
    steps = DELETED + "append 1 z Z\nconsume c 1 upto=1\nadvance {}\ncompact 1\nconsume c 1"

    for late, missed in ((100, True), (101, False)):
        run = run_steps(steps.format(late), rules={"tombstone_removal": "immediate"}, **ALONE)
        assert ("consumer-tombstone-visibility" in run.violated) is missed


def test_no_position_moves_back_and_upto_is_exclusive() -> None:
    steps = "elect 1 1\nappend 1 a A\nappend 1 b B\nconsume c 1 upto=1\nconsume c 1 upto=0\n"

    run = run_steps(steps + "consume c 1", **ALONE)
    reads = [(e.start, e.end) for _, e in run.events if type(e).__name__ == "Consumed"]
    assert reads == [(0, 1), (1, 1), (1, 2)]


def test_reading_below_the_log_start_skips_ahead_without_blame() -> None:
    steps = "elect 1 1\nappend 1 a A\nappend 1 b B\nsnapshot 1 1\ndelete_prefix 1 1\nconsume c 1"

    assert run_steps(steps, **ALONE).violated == []
