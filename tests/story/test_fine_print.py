"""The fine print of the page on stories, sentence by sentence."""

import pytest

from sim.check.checker import story_invariants
from sim.check.invariant import Kind
from sim.check.registry import INVARIANTS
from tests.story.running import high_watermark, log, log_end, run_steps

ALONE = {"replicas": ("1",)}
AB = "elect 1 1\nappend 1 a A\nappend 1 b B\n"
DELETED = "elect 1 1\nappend 1 k K\nappend 1 k=null K tombstone=true\nappend 1 z Z\n"


# Precedence.


def test_liveness_is_log_end_convergence_and_the_tombstone_probe() -> None:
    names = set(story_invariants(liveness=True)) - set(story_invariants(liveness=False))

    assert names == {"leo-convergence", "tombstone-eventually-removed"}
    assert all(INVARIANTS[name].kind is Kind.LIVENESS for name in names)


def test_the_default_invariants_are_those_of_the_page() -> None:
    assert len(story_invariants(liveness=True)) == 32
    assert "compaction-lag-bound" not in story_invariants(liveness=True)


def test_tombstone_safety_is_not_judged_with_a_lag_guard() -> None:
    steps = DELETED + "fetch 2 1 max=1\ncompact 1\nadvance 100\ncompact 1"

    assert "tombstone-safety" in run_steps(steps, isr=("1",)).violated
    for guard in ("reset_local", "reset_propagated"):
        run = run_steps(steps, isr=("1",), rules={"lag_guard": guard})
        assert "tombstone-safety" not in run.violated


# Leadership.


def test_after_a_refused_election_the_story_goes_on_without_harm() -> None:
    run = run_steps(AB + "isr 1\nelect_from_isr 2 2\nappend 2 x X\nsync 1 2\nquiesce")

    assert (run.leader, run.violated, log(run, "2")) == ("1", [], ["a@0", "b@1"])


def test_any_epoch_is_accepted() -> None:
    assert run_steps("elect 1 9\nelect 2 3\nelect 1 3").leader == "1"


def test_votes_compare_the_newest_epoch_entry_before_the_log_end() -> None:
    """2 has led epoch 2 without a write: its newest entry beats 1's longer log."""
    steps = AB + "elect 2 2\nelect 1 3 votes=2"

    assert run_steps(steps).leader == "2"
    assert run_steps(AB + "elect 1 3 votes=2").leader == "1"


def test_votes_of_replicas_that_are_no_voters_do_not_count() -> None:
    steps = "elect 1 1\nelect 2 2 votes=4,5"
    names = ("1", "2", "3", "4", "5")

    assert run_steps(steps, replicas=names, voters=("1", "2", "3")).leader == "1"
    assert run_steps(steps, replicas=names).leader == "2"


def test_a_voter_that_granted_refuses_the_leader_of_a_lower_epoch() -> None:
    steps = "elect 1 1\nelect 3 2 votes=2\nappend 1 a A\nfetch 2 1"

    for fencing, copied in ((True, []), (False, ["a@0"])):
        run = run_steps(steps, replicas=("1", "2", "3"), rules={"fencing": fencing})
        assert log(run, "2") == copied


@pytest.mark.parametrize("meets", ["follow 1 2", "fetch 1 2", "sync 1 2"])
def test_a_leader_that_sees_a_higher_epoch_stops_leading(meets: str) -> None:
    run = run_steps(f"elect 1 1\nelect 2 2\n{meets}\nappend 1 a A")

    assert log(run) == []
    assert log(run_steps("elect 1 1\nelect 2 2\nappend 1 a A")) == ["a@0"]


def test_crash_and_restart_do_not_end_leadership_but_forget_positions() -> None:
    steps = AB + "sync 2 1\ncrash 1\nrestart 1\nappend 1 c C"

    run = run_steps(steps)
    assert (log(run), high_watermark(run)) == (["a@0", "b@1", "c@2"], 2)
    assert high_watermark(run_steps(steps + "\nfetch 2 1")) == 2
    assert high_watermark(run_steps(steps + "\nfetch 2 1\nfetch 2 1")) == 3


@pytest.mark.parametrize("commit", ["isr", "majority"])
def test_a_high_watermark_is_kept_at_election(commit: str) -> None:
    run = run_steps(AB + "sync 2 1\nelect 2 2", rules={"commit": commit})

    assert high_watermark(run, "2") == 2


# High watermark and in-sync set.


@pytest.mark.parametrize(
    ("steps", "committed"),
    [
        ("isr 1", 2),
        ("append 1 c C", 0),
        ("isr 1\nappend 1 c C", 3),
        ("fetch 2 1\nfetch 2 1", 2),
        ("isr 1\nelect 1 2", 2),
    ],
)
def test_the_leader_recomputes_after_each_of_these_steps(steps: str, committed: int) -> None:
    assert high_watermark(run_steps(AB + steps)) == committed


def test_an_unknown_position_blocks_in_isr_mode_and_counts_as_zero_in_majority_mode() -> None:
    steps = AB + "sync 2 1"
    names = ("1", "2", "3")

    assert high_watermark(run_steps(steps, replicas=names)) == 0
    assert high_watermark(run_steps(steps, replicas=names, rules={"commit": "majority"})) == 2


def test_a_high_watermark_is_lowered_with_the_log_end() -> None:
    assert high_watermark(run_steps(AB + "crash 1 lose=1", **ALONE)) == 1
    rules = {"leo_source": "last_record", "strategy": "header"}
    steps = "elect 1 1\nappend 1 a A hdr=2\nappend 1 b A hdr=1\ncompact 1"
    assert high_watermark(run_steps(steps, rules=rules, **ALONE)) == 1
    cut = "elect 1 1\nappend 1 a A\nsync 2 1\nisr 1\nappend 1 b B\nelect 2 2\nfetch 1 2"
    assert high_watermark(run_steps(cut)) == 1


def test_isr_is_unconditional_and_is_no_expansion() -> None:
    run = run_steps(AB + "isr 1\nisr 1,2")

    assert run.violated == []
    assert high_watermark(run) == 2


def test_expand_isr_of_a_replica_that_is_down_or_unknown_does_nothing() -> None:
    steps = "elect 1 1\n{}expand_isr 2\nelect_from_isr 2 2"

    assert run_steps(steps.format(""), isr=("1",)).leader == "1"
    assert run_steps(steps.format("fetch 2 1\n"), isr=("1",)).leader == "2"
    down = steps.format("fetch 2 1\ncrash 2\n").replace("elect_from", "restart 2\nelect_from")
    assert run_steps(down, isr=("1",)).leader == "1"


# Fetch.


@pytest.mark.parametrize(
    "answered_with",
    [
        "append 1 c C",
        "snapshot 1 2\ndelete_prefix 1 2",
        "crash 1 lose=2\nrestart 1\nelect 1 2",
    ],
)
def test_a_dropped_answer_changes_nothing_at_the_follower(answered_with: str) -> None:
    """Records, a snapshot id, a diverging epoch."""
    before = "elect 1 1\nappend 1 a A\nfetch 2 1\nappend 1 b B\n" + answered_with

    one = run_steps(before, isr=("1",))
    other = run_steps(before + "\nfetch 2 1 drop_response=true\nfetch_snapshot 2 1", isr=("1",))

    assert one.replicas["2"] == other.replicas["2"]


SENT_TO_A_SNAPSHOT = (
    "elect 1 1\nappend 1 a A\nappend 1 b B\nsnapshot 1 2\ndelete_prefix 1 2\nfetch 2 1"
)


@pytest.mark.parametrize("between", ["", "crash 1\n", "elect 1 2\n"])
def test_a_late_chunk_arrives_though_its_leader_is_down_or_leads_another_epoch(
    between: str,
) -> None:
    steps = f"{SENT_TO_A_SNAPSHOT}\nfetch_snapshot 2 1 delay_response=true\n{between}"

    assert run_steps(steps, isr=("1",)).replicas["2"].log_end_offset == 0
    assert run_steps(steps + "deliver 2 1", isr=("1",)).replicas["2"].log_end_offset == 2


def test_a_late_chunk_does_not_arrive_at_a_replica_that_was_down_meanwhile() -> None:
    steps = f"{SENT_TO_A_SNAPSHOT}\nfetch_snapshot 2 1 delay_response=true\n"

    assert (
        run_steps(steps + "crash 2\nrestart 2\ndeliver 2 1", isr=("1",))
        .replicas["2"]
        .log_end_offset
        == 0
    )


def test_a_reset_by_the_lag_guard_ends_the_round() -> None:
    steps = DELETED + "fetch 2 1 max=1\ncompact 1\nadvance 100\ncompact 1\n"
    rules = {"lag_guard": "reset_local"}

    assert log(run_steps(steps + "fetch 2 1", isr=("1",), rules=rules), "2") == []
    assert log(run_steps(steps + "fetch 2 1\nfetch 2 1", isr=("1",), rules=rules), "2") == ["z@2"]


def test_an_epoch_above_the_leader_s_latest_is_answered_with_the_latest_and_the_log_end() -> None:
    """2 has led epoch 5; 1 leads epoch 1 again, without fencing: its answer is (1, 2)."""
    steps = "elect 1 1\nappend 1 a A\nsync 2 1\nelect 2 5\nappend 2 x X\nappend 1 b B\nfetch 2 1"

    assert log(run_steps(steps, rules={"fencing": False}), "2") == ["a@0"]


def test_every_cut_drops_the_epochs_that_start_at_or_above_it() -> None:
    """2 led epoch 2 without a write: its entry (2, 1) goes although nothing is cut."""
    steps = "elect 1 1\nappend 1 a A\nsync 2 1\nelect 2 2\nelect 1 3\nappend 1 b B\nsync 2 1"

    assert log(run_steps(steps), "2") == ["a@0", "b@1"]


def test_followers_do_not_take_over_the_leader_s_log_start() -> None:
    run = run_steps(AB + "sync 2 1\nsnapshot 1 2\ndelete_prefix 1 2\nappend 1 c C\nsync 2 1")

    assert (run.replicas["1"].log_start_offset, run.replicas["2"].log_start_offset) == (2, 0)
    assert log(run, "2") == ["a@0", "b@1", "c@2"]


def test_sync_ends_where_a_state_comes_back() -> None:
    """A leader without a snapshot redirects for ever."""
    run = run_steps(AB + "delete_prefix 1 1\nsync 2 1", isr=("1",))

    assert log(run, "2") == []


def test_continuous_invariants_are_judged_after_each_round_of_a_sync() -> None:
    steps = "elect 1 1\nappend 1 a A\nfetch 2 1\ncrash 1 lose=1\nrestart 1\nappend 1 b B\nsync 2 1"

    assert "log-matching" in run_steps(steps).violated


def test_push_is_allowed_under_any_rule_and_moves_neither_high_watermark_nor_position() -> None:
    run = run_steps(AB + "push 2 1 a\npush 2 1 b")

    assert (high_watermark(run), high_watermark(run, "2")) == (0, 0)
    assert log(run, "2") == ["a@0", "b@1"]


@pytest.mark.parametrize("drops", ["crash 2\nrestart 2", "elect 1 2\nfollow 2 1", "follow 2 1"])
def test_a_partly_fetched_snapshot_is_dropped_by_a_restart_or_a_new_leader(drops: str) -> None:
    steps = AB + "snapshot 1 2\ndelete_prefix 1 2\nfetch 2 1\nfetch_snapshot 2 1 chunk=1\n"

    assert log_end(run_steps(steps + "fetch_snapshot 2 1", isr=("1",)), "2") == 2
    assert log_end(run_steps(f"{steps}{drops}\nfetch_snapshot 2 1", isr=("1",)), "2") == 0


def test_a_new_epoch_of_the_same_leader_drops_the_part() -> None:
    steps = AB + "snapshot 1 2\ndelete_prefix 1 2\nfetch 2 1\nfetch_snapshot 2 1 chunk=1\n"

    assert log_end(run_steps(steps + "elect 1 2\nfetch_snapshot 2 1", isr=("1",)), "2") == 0


def test_a_snapshot_is_installed_even_over_a_later_epoch() -> None:
    """2 led epoch 2 uncleanly, behind; 1 leads again and has deleted what 2 lacks."""
    steps = """
elect 1 1
append 1 a A
fetch 2 1
append 1 b B
append 1 c C
elect 2 2
elect 1 3
snapshot 1 3
delete_prefix 1 3
sync 2 1
"""
    view = run_steps(steps, isr=("1",)).replicas["2"]
    assert (view.log_start_offset, view.log_end_offset, view.high_watermark) == (3, 3, 3)


# Steps.


def test_steps_are_counted_from_one_and_a_violation_is_told_once() -> None:
    run = run_steps("elect 1 1\nelect 2 1\nelect 1 1\nelect 2 1")

    assert [(each.invariant, each.at) for each in run.violations] == [("election-safety", 2)]
