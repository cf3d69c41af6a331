"""What each rule means in a story, as the page on stories says."""

import pytest

from tests.story.running import high_watermark, log, log_end, run_steps, state

ALONE = {"replicas": ("1",)}
THREE = ("1", "2", "3")
DELETED = """
elect 1 1
append 1 k K
append 1 k=null K tombstone=true
append 1 z Z
"""


def test_isr_commits_what_every_member_has_the_leader_included() -> None:
    steps = "elect 1 1\nappend 1 a A\nappend 1 b B\nsync 2 1\nfetch 3 1 max=1\nfetch 3 1"

    assert high_watermark(run_steps(steps, replicas=THREE)) == 1
    assert high_watermark(run_steps(steps, replicas=THREE, isr=("1", "2"))) == 2


def test_isr_commits_nothing_below_min_isr() -> None:
    steps = "elect 1 1\nappend 1 a A\n{}"

    assert high_watermark(run_steps(steps.format(""), isr=("1",), rules={"min_isr": 2})) == 0
    assert high_watermark(run_steps(steps.format("sync 2 1"), rules={"min_isr": 2})) == 1


@pytest.mark.parametrize(("replicas", "synced", "committed"), [(3, 0, 0), (3, 1, 1), (4, 1, 0)])
def test_majority_commits_the_position_that_most_voters_have(
    replicas: int, synced: int, committed: int
) -> None:
    names = [str(number) for number in range(1, replicas + 1)]
    steps = "elect 1 1\nappend 1 a A\n" + "".join(f"sync {n} 1\n" for n in names[1 : synced + 1])

    assert (
        high_watermark(run_steps(steps, replicas=names, rules={"commit": "majority"})) == committed
    )


@pytest.mark.parametrize(
    ("rule", "at_start", "above"), [("strict", 0, 2), ("off_by_one", 1, 2), ("none", 1, 2)]
)
def test_the_epoch_rule_compares_with_the_epoch_s_start(
    rule: str, at_start: int, above: int
) -> None:
    steps = "elect 1 1\nappend 1 a A\nfetch 2 1\nelect 1 2\nsync 2 1\n"
    rules = {"commit": "majority", "epoch_commit_rule": rule}

    assert high_watermark(run_steps(steps, replicas=THREE, rules=rules)) == at_start
    assert (
        high_watermark(run_steps(steps + "append 1 b B\nsync 2 1", replicas=THREE, rules=rules))
        == above
    )


@pytest.mark.parametrize(("rule", "joins"), [("epoch_start", False), ("hw_only", True)])
def test_joining_compares_with_the_high_watermark_and_the_epoch_s_start(
    rule: str, joins: bool
) -> None:
    """2 is at 0: not below the high watermark 0, but below the start 1 of epoch 2."""
    steps = """
elect 1 1
append 1 a A
elect 1 2
fetch 2 1 drop_response=true
expand_isr 2
elect_from_isr 2 3
"""
    run = run_steps(steps, replicas=THREE, isr=("1", "3"), rules={"isr_join": rule})

    assert run.leader == ("2" if joins else "1")


def test_nobody_joins_below_the_high_watermark() -> None:
    steps = "elect 1 1\nappend 1 a A\nfetch 2 1\nexpand_isr 2\nelect_from_isr 2 2"

    for rule in ("epoch_start", "hw_only"):
        assert run_steps(steps, isr=("1",), rules={"isr_join": rule}).leader == "1"


def test_kip101_asks_for_the_start_of_the_first_larger_epoch_or_the_log_end() -> None:
    steps = "elect 1 1\nappend 1 a A\nsync 2 1\nappend 1 b B\nappend 1 c C\n{}\nfollow 1 2"
    rules = {"truncation": "epoch_kip101"}

    assert log_end(run_steps(steps.format("elect 2 2"), rules=rules)) == 1
    same_epoch = "crash 2\nrestart 2\nelect 2 1"
    assert log_end(run_steps(steps.format(same_epoch), rules=rules)) == 1


def test_epoch_diverging_cuts_to_the_smaller_of_own_and_answered_end() -> None:
    own_is_smaller = """
elect 1 1
append 1 a A
sync 2 1
append 1 b B
append 1 c C
elect 2 2
append 2 x X
append 2 y Y
append 2 z Z
elect 1 3
fetch 2 1          # epoch 1 ends at 3 on 1 and at 1 on 2
"""
    answered_is_smaller = """
elect 2 1
append 2 a A
sync 1 2
append 2 b B
append 2 c C
elect 1 2
fetch 2 1          # epoch 1 ends at 1 on 1 and at 3 on 2
"""
    for steps in (own_is_smaller, answered_is_smaller):
        assert log(run_steps(steps), "2") == ["a@0"]


def test_a_stored_log_end_stays_and_one_from_the_last_record_moves() -> None:
    steps = "elect 1 1\nappend 1 a A hdr=2\nappend 1 b A hdr=1\ncompact 1"

    for source, end in (("stored", 2), ("last_record", 1)):
        rules = {"strategy": "header", "leo_source": source}
        run = run_steps(steps, rules=rules, **ALONE)
        assert (log_end(run), high_watermark(run)) == (end, end)


@pytest.mark.parametrize(("rule", "believed"), [("request", 0), ("read_end", 2)])
def test_what_the_leader_believes_after_an_empty_read(rule: str, believed: int) -> None:
    steps = """
elect 1 1
append 1 k K
append 1 k=null K tombstone=true
compact 1
compact 1
isr 1,2
fetch 2 1
append 1 z Z
"""
    rules = {"follower_position": rule, "delete_retention_ms": 0}
    run = run_steps(steps, rules=rules, isr=("1",))

    positions = [event for _, event in run.events if type(event).__name__ == "PositionRecorded"]
    assert [event.position for event in positions] == [believed]


def test_read_end_records_the_fetch_offset_while_anything_is_left_above_it() -> None:
    steps = "elect 1 1\nappend 1 a A\nfetch 2 1 drop_response=true"

    for rule in ("request", "read_end"):
        run = run_steps(steps, rules={"follower_position": rule})
        positions = [e for _, e in run.events if type(e).__name__ == "PositionRecorded"]
        assert [event.position for event in positions] == [0]


@pytest.mark.parametrize(
    ("strategy", "winner"), [("offset", "c@2"), ("timestamp", "b@1"), ("header", "a@0")]
)
def test_the_strategy_says_which_record_of_a_key_stays(strategy: str, winner: str) -> None:
    steps = """
elect 1 1
append 1 a K ts=1 hdr=9
append 1 b K ts=5 hdr=8
append 1 c K ts=1
compact 1
"""
    assert log(run_steps(steps, rules={"strategy": strategy}, **ALONE)) == [winner]


@pytest.mark.parametrize("strategy", ["offset", "timestamp", "header"])
def test_ties_go_to_the_higher_offset(strategy: str) -> None:
    for version in ("hdr=3", ""):
        steps = f"elect 1 1\nappend 1 a K ts=1 {version}\nappend 1 b K ts=1 {version}\ncompact 1"
        assert log(run_steps(steps, rules={"strategy": strategy}, **ALONE)) == ["b@1"]


def test_no_header_loses_to_any_header_and_null_is_no_header() -> None:
    for without in ("", "hdr=null"):
        steps = f"elect 1 1\nappend 1 a K hdr=-5\nappend 1 b K {without}\ncompact 1"
        assert log(run_steps(steps, rules={"strategy": "header"}, **ALONE)) == ["a@0"]


def test_a_dirty_map_compares_with_records_at_or_above_the_clean_point_only() -> None:
    """The clean b1 loses to the dirty b2; the dirty a1 is never compared with the clean a2."""
    steps = """
elect 1 1
append 1 a2 A hdr=2
append 1 b1 B hdr=1
compact 1
append 1 a1 A hdr=1
append 1 b2 B hdr=2
compact 1
"""
    rules = {"strategy": "header", "map_range": "dirty"}

    assert log(run_steps(steps, rules=rules, **ALONE)) == ["a2@0", "a1@2", "b2@3"]
    assert log(run_steps(steps, rules=rules | {"map_range": "full"}, **ALONE)) == ["a2@0", "b2@3"]


def test_the_cleaner_s_bound_is_the_high_watermark_or_the_log_end() -> None:
    steps = "elect 1 1\nappend 1 a A\nappend 1 b A\ncompact 1"

    assert log(run_steps(steps)) == ["a@0", "b@1"]
    assert log(run_steps(steps, rules={"cleaner_bound": "leo"})) == ["b@1"]


@pytest.mark.parametrize("bound", ["hw", "leo"])
def test_both_bounds_stop_at_the_first_offset_of_an_open_transaction(bound: str) -> None:
    steps = """
elect 1 1
append 1 a A
append 1 b A
append 1 c C pid=7
append 1 d D
append 1 e D
compact 1
"""
    run = run_steps(steps, rules={"cleaner_bound": bound}, **ALONE)
    assert log(run) == ["b@1", "c@2", "d@3", "e@4"]


def test_horizon_is_set_by_the_first_pass_that_retains_and_served_by_a_later_one() -> None:
    steps = DELETED + "compact 1\nadvance {}\ncompact 1"

    assert "k=null@1" in log(run_steps(steps.format(99), **ALONE))
    assert "k=null@1" not in log(run_steps(steps.format(100), **ALONE))
    first_pass_late = DELETED + "advance 1000\ncompact 1"
    assert "k=null@1" in log(run_steps(first_pass_late, **ALONE))


def test_a_stored_horizon_is_copied_with_the_record() -> None:
    steps = DELETED + "compact 1\nfetch 2 1\nadvance 100\nfetch 2 1\ncompact 2"

    assert log(run_steps(steps, isr=("1",)), "2") == ["z@2"]


def test_immediate_removes_in_the_pass_that_meets_the_tombstone() -> None:
    run = run_steps(DELETED + "compact 1", rules={"tombstone_removal": "immediate"}, **ALONE)

    assert log(run) == ["z@2"]


@pytest.mark.parametrize(("position", "stays"), [(1, True), (2, False)])
def test_leo_gated_needs_every_log_end_above_the_tombstone(position: int, stays: bool) -> None:
    steps = DELETED + f"fetch 2 1 max={position}\ncompact 1\nadvance 100\ncompact 1"

    run = run_steps(steps, isr=("1",), rules={"tombstone_removal": "leo_gated"})
    assert ("k=null@1" in log(run)) is stays


@pytest.mark.parametrize(
    ("arguments", "stays"),
    [
        ("legacy_horizon=50 segments=[[0,3,50]]", False),
        ("legacy_horizon=50 segments=[[0,3,51]]", True),
        ("legacy_horizon=50 segments=[[0,1,0],[1,3,51]]", True),
        ("legacy_horizon=50 segments=[[0,1,51],[1,3,50]]", False),
        ("legacy_horizon=50", True),
        ("segments=[[0,3,0]]", True),
        ("", True),
    ],
)
def test_last_modified_compares_the_segment_s_time_with_the_pass_s_horizon(
    arguments: str, stays: bool
) -> None:
    steps = DELETED + f"compact 1 {arguments}"

    run = run_steps(steps, rules={"tombstone_removal": "last_modified"}, **ALONE)
    assert ("k=null@1" in log(run)) is stays


@pytest.mark.parametrize(
    ("mark", "left"),
    [
        ("explicit", {"A": "a2", "B": "b2"}),
        ("flag", {"B": "b2", "C": "c2"}),
        ("null_value", {"A": "a2", "C": "c2"}),
    ],
)
def test_the_mark_says_which_field_makes_a_tombstone(mark: str, left: dict[str, str]) -> None:
    steps = """
elect 1 1
append 1 a2 A flag=true
append 1 b2 B null_value=true
append 1 c2 C tombstone=true
"""
    assert state(run_steps(steps, rules={"tombstone_mark": mark}, **ALONE)) == left


def test_reset_compares_the_fetch_offset_with_the_highest_removed_tombstone() -> None:
    """At 0 nobody is reset, below 2 everybody, at 2 nobody."""
    steps = DELETED + "fetch 2 1 max={}\ncompact 1\nadvance 100\ncompact 1\nfetch 2 1"
    rules = {"lag_guard": "reset_local"}

    for had, after in ((0, ["z@2"]), (1, []), (2, ["k@0", "k=null@1", "z@2"])):
        assert log(run_steps(steps.format(had), isr=("1",), rules=rules), "2") == after
