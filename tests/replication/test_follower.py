"""What a follower makes of answers: what it commits, copies and cuts, and what it refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sim.protocol.events import HighWatermarkMoved, Truncated
from sim.protocol.log import Log, LogConfig, Record, data_batch
from sim.protocol.log.segment import Call
from sim.protocol.replication import Replica, follower, leader
from sim.protocol.replication.cleaning import Cleaner
from sim.protocol.replication.messages import Answer
from sim.protocol.rules import Rules
from tests.replication.replicas import RULES, ask, bases, elect, fetch, leading, with_log


def test_what_a_follower_copies_at_once_has_one_entry_of_the_offset_index_at_most() -> None:
    """Where a release adds one entry an append: the leader appended each batch for itself."""
    source, fetcher = leading(records=3), Replica("r2", Log(LogConfig(indexes_calls=True)))
    fetch(source, fetcher)

    assert source.log.active.index.calls == []
    assert fetcher.log.active.index.calls == [Call(0, 2, 2)]


@given(
    places=st.lists(st.integers(0, 4), min_size=3, max_size=3).map(sorted),
    new=st.integers(0, 3),
    told=st.integers(0, 9),
    rule=st.sampled_from(["max", "assign"]),
)
def test_a_follower_commits_what_its_leader_has_committed_between_its_log_start_and_end(
    places: list[int], new: int, told: int, rule: str
) -> None:
    """A high watermark falls where the rules assign it, but never out of the log."""
    start, known, end = places
    source, fetcher = leading(records=end + new), with_log("r2", *[1] * end)
    fetcher.epoch, fetcher.log.log_start_offset, fetcher.log.high_watermark = 1, start, known
    answer = replace(ask(source, fetcher)[0], high_watermark=told)
    rules = RULES.with_values({"high_watermark_update": rule})
    events = follower.receive_fetch(fetcher, answer, rules=rules, now_ms=0).events

    within = min(max(told, start), end + new)
    expected = within if rule == "assign" else max(known, within)
    assert fetcher.log.high_watermark == expected
    moved = [HighWatermarkMoved("r2", expected, leading=False)]
    assert events[int(new > 0) :] == (moved if expected != known else [])


STEPS = st.lists(
    st.one_of(st.sampled_from("ab"), st.sampled_from(["elect", "clean", "fetch"])), max_size=12
)


@given(STEPS, st.sampled_from(["empty_batch", "leo_retention", "gap_fetch"]))
def test_a_follower_that_has_caught_up_ends_where_its_leader_does_and_knows_the_epoch_of_the_end(
    steps: list[str], fix: str
) -> None:
    """Every value is a tombstone that the second pass removes, so only what a fix keeps is left.

    An epoch without records, which a gap told it of, may be one that its leader knows no more.
    """
    rules = Rules.of(commit="isr", fix=fix, delete_retention_ms=0)
    source, fetcher, cleaner = leading(), Replica("r2"), Cleaner(rules)
    for now_ms, step in enumerate([*steps, "clean", "clean"]):
        end, epoch = source.log.log_end_offset, source.epoch
        if step == "elect":
            elect(source, epoch=epoch + 1)
        elif step == "clean":
            cleaner.run(source, upper_bound=end, now_ms=now_ms, rescan=True)
        elif step == "fetch":
            fetch(source, fetcher, rules=rules)
        else:
            deleted = data_batch((Record(end, step, None, 0, uid=end + 1),), epoch=epoch)
            leader.append(source, deleted, rules=rules, now_ms=now_ms)
    answers = [fetch(source, fetcher, rules=rules) for _ in range(4)]
    assert answers[1:] == [Answer.RECORDS] * 3

    end = source.log.log_end_offset
    begun = [entry.epoch for entry in source.log.epochs.entries if entry.start_offset < end]
    assert fetcher.log.log_end_offset == end
    assert max(begun, default=-1) <= fetcher.last_fetched_epoch <= source.epoch


def test_a_diverging_answer_cuts_to_the_smaller_end_and_ends_the_round() -> None:
    source = leading(records=2)
    elect(source, epoch=3)
    fetcher = with_log("r2", 1, 2, 2)
    response, _ = ask(source, fetcher)
    events = follower.receive_fetch(fetcher, response, rules=RULES, now_ms=0).events

    assert events == [Truncated("r2", 1, 3, 0, 0, leading=False)]
    assert [tuple(entry) for entry in fetcher.log.epochs.entries] == [(1, 0)]


def test_a_follower_learns_from_the_result_whether_to_ask_at_once_or_later() -> None:
    source, fetcher = leading(records=2), Replica("r2")
    response, _ = ask(source, fetcher)
    copied = follower.receive_fetch(fetcher, response, rules=RULES, now_ms=0)
    assert (copied.committed, copied.rebuilt, copied.retry_later) == (True, False, False)

    stale = follower.receive_fetch(fetcher, response, rules=RULES, now_ms=0)
    assert stale == follower.ReceiveResult([])

    refusal, _ = ask(Replica("r3"), fetcher)
    assert follower.receive_fetch(fetcher, refusal, rules=RULES, now_ms=0).retry_later


@pytest.mark.parametrize(("fencing", "copied"), [(True, []), (False, [0])])
def test_an_answer_of_an_older_epoch_is_refused(fencing: bool, copied: list[int]) -> None:
    source, fetcher = leading(records=1), Replica("r2")
    response, _ = ask(source, fetcher)
    fetcher.sees(2)
    rules = RULES.with_values({"fencing": fencing})
    follower.receive_fetch(fetcher, response, rules=rules, now_ms=0)

    assert bases(fetcher) == copied


def test_a_cut_lowers_high_watermark_and_checkpoints_with_the_log_end() -> None:
    source = leading(records=1)
    elect(source, epoch=3)
    fetcher = with_log("r2", 1, 1, 1)
    places = ("first_dirty_offset", "begun_offset", "cleanly_compacted_offset")
    for name in places:
        setattr(fetcher, name, 3)
    fetcher.log.high_watermark, fetcher.last_cleaning = 3, (3, 70)
    fetch(source, fetcher)

    assert {fetcher.log.high_watermark, *[getattr(fetcher, name) for name in places]} == {1}
    assert fetcher.last_cleaning == (1, 70)
