"""What Kafka's own unit tests claim of transactions and producers, on logs of our own.

Source: LogCleanerTest.
"""

import pytest

from tests.logfile.writer import (
    DAY_MS,
    Writer,
    emptied,
    gone,
    horizons,
    last_offsets,
    surviving,
)

NOW = 1_000_000
LONG = 2**63 - 1


def test_a_retry_of_a_batch_that_was_cleaned_is_still_recognised() -> None:
    """As testDuplicateCheckAfterCleaning: the sequences stay in the batch headers."""
    log = Writer()
    log.data("p=1", "q=1", "r=1", producer=1, outside=True)
    log.data("r=2", "p=2", "s=2", producer=2, outside=True)
    log.data("p=3", "s=3", producer=3, outside=True)
    log.roll()
    log.clean()
    log.step("reload")
    retry = {"producer_epoch": 0, "base_sequence": 0}
    log.step("produce_duplicate", producer_id=1, keys=["p", "q", "r"], **retry)
    log.step("produce_duplicate", producer_id=3, keys=["p", "s"], **retry)
    log.step("produce_duplicate", producer_id=2, keys=["r", "p", "s"], **retry)
    log.step("produce_duplicate", producer_id=2, keys=["r", "p"], **retry)

    clean, reloaded, *retries = log.answers()

    assert surviving(clean) == [1, 3, 6, 7]
    assert last_offsets(clean) == [2, 5, 7]
    assert reloaded["last_sequences"] == {"1": 2, "2": 2, "3": 1}
    assert [
        (told["duplicate"], told.get("first_offset"), told.get("last_offset")) for told in retries
    ] == [
        (True, 0, 2),
        (True, 6, 7),
        (True, 3, 5),
        (False, None, None),
    ]


def test_a_producers_last_batch_stays_when_all_its_records_are_gone() -> None:
    """As testLogCleanerRetainsProducerLastSequence, and testDuplicateCheckAfterCleaning."""
    log = Writer({"preset": "kafka-3.8"})
    log.singles("k=0")
    for producer in (1, 2, 3):
        log.data("k=x", producer=producer, outside=True)
    log.data("m=1", producer=2, outside=True)
    log.roll()
    log.clean()
    log.step("reload")

    told, reloaded = log.answers()

    assert last_offsets(told) == [1, 3, 4]
    assert emptied(told) == [1]
    assert reloaded["last_sequences"] == {"1": 0, "2": 1, "3": 0}


def test_the_index_of_aborted_transactions_outlives_a_pass_with_a_full_map() -> None:
    """As testMultiPassSegmentCleaningWithAbortedTransactions."""
    log = Writer({"preset": "kafka-3.8", "delete_retention_ms": 50_000})
    one, two = 1, 2
    log.data("a=1", "b=1", producer=one)
    log.data("b=1", "c=1", producer=two)
    log.data("c=1", "d=1", producer=one)
    log.commit(one)
    log.commit(two)
    log.data("b=1", "c=1", producer=one)
    log.abort(one)
    log.data("d=1", "e=1", producer=two)
    log.data("e=1", "f=1", producer=one)
    log.commit(one)
    log.abort(two)
    log.data("f=1", "g=1", producer=two)
    log.commit(two)
    log.roll()
    for dirty, now in ((0, NOW), (4, NOW), (14, NOW + 50_000)):
        log.clean(dirty, now=now, map_capacity=3)

    first, second, third = log.cleaned()

    assert [told["next_dirty_offset"] for told in (first, second, third)] == [4, 14, 20]
    assert surviving(first) == [0, 2, 3, 4, 5, 6, 7, 10, 13, 14, 15, 16, 17, 18, 19]
    assert [list(entry.values()) for entry in first["aborted_txns"]] == [
        [1, 8, 10, 11],
        [2, 11, 16, 17],
    ]
    assert surviving(second) == [0, 2, 4, 5, 6, 7, 10, 13, 14, 15, 16, 17, 18, 19]
    assert second["aborted_txns"] == []
    assert surviving(third) == [0, 2, 4, 5, 6, 7, 13, 15, 17, 18, 19]
    assert gone(third)[10] == gone(third)[16] == "marker past its horizon"


def test_data_of_a_transaction_whose_marker_lies_beyond_the_pass_goes_too() -> None:
    """As testCleanWithTransactionsSpanningSegments: the index of later segments is asked."""
    log = Writer({"preset": "kafka-3.8"})
    log.data("a=1", "b=1", producer=1)
    log.data("b=2", "c=2", producer=3)
    log.data("c=3", "d=3", producer=2)
    log.roll()
    log.data("e=1", "f=1", producer=2)
    log.data("f=2", "g=2", producer=3)
    log.data("g=3", "h=3", producer=1)
    log.abort(2)
    log.data("h=4", "i=4", producer=3)
    log.commit(3)
    log.data("i=5", "j=5", producer=1)
    log.abort(1)
    log.clean(bound=6)
    log.roll()
    log.data("x=1", producer=2)
    log.data("y=1", producer=1)
    log.clean(6, bound=19)

    first, second = log.cleaned()

    assert (first["next_dirty_offset"], surviving(first)[:3]) == (6, [2, 3, 6])
    assert [key for key, why in gone(first).items() if why == "aborted"] == [0, 1, 4, 5]
    assert [o for o in surviving(second) if o not in (12, 15, 18)] == [2, 3, 8, 9, 13, 14, 19, 20]


def test_a_commit_marker_goes_three_passes_after_its_data_became_removable() -> None:
    """As testCommitMarkerRemoval, and the life of a marker."""
    log = Writer({"preset": "kafka-3.8"})
    log.data("a=1", producer=1)
    log.data("b=1", "c=1", producer=1)
    log.commit(1)
    log.data("b=2", producer=1)
    log.commit(1)
    log.roll()
    log.clean(now=NOW)
    log.data("a=3", "c=3", producer=1)
    log.commit(1)
    log.roll()
    log.clean(6, now=NOW)
    log.rescan(now=NOW)
    log.rescan(now=NOW + DAY_MS - 1)
    log.rescan(now=NOW + DAY_MS)

    data_left, data_gone, stamped, early, due = log.cleaned()

    assert surviving(data_left) == [0, 2, 3, 4, 5]
    assert (surviving(data_gone), horizons(data_gone)) == ([3, 4, 5, 6, 7, 8], {})
    assert (surviving(stamped), horizons(stamped)) == (surviving(data_gone), {3: NOW + DAY_MS})
    assert surviving(early) == surviving(data_gone)
    assert surviving(due) == [4, 5, 6, 7, 8]


def test_an_abort_marker_outlives_the_aborted_records_by_its_horizon() -> None:
    """As testAbortMarkerRemoval."""
    log = Writer({"preset": "kafka-3.8"})
    log.data("a=1", producer=1)
    log.data("b=1", "c=1", producer=1)
    log.abort(1)
    log.data("c=2", producer=1)
    log.commit(1)
    log.roll()
    log.clean(now=NOW)
    log.rescan(now=NOW)
    log.rescan(now=NOW + DAY_MS + 1)

    first, _, last = log.cleaned()

    assert (surviving(first), first["messages_read"]) == ([3, 4, 5], 3)
    assert surviving(last) == [4, 5]


def test_batches_dropped_whole_are_not_read() -> None:
    """As testDeletedBatchesWithNoMessagesRead."""
    log = Writer({"preset": "kafka-3.8"})
    log.data("a=1", producer=1)
    log.abort(1)
    log.data("b=1", producer=1)
    log.data("b=2", producer=1)
    log.commit(1)
    log.roll()
    log.clean(now=NOW)
    log.clean(now=NOW)
    log.clean(now=NOW + DAY_MS + 1)

    first, second, third = log.cleaned()

    assert (surviving(first), first["messages_read"], first["messages_written"]) == (
        [1, 3, 4],
        4,
        3,
    )
    assert horizons(second) == {1: NOW + DAY_MS}
    assert (surviving(third), third["messages_read"]) == ([3, 4], 2)


def test_an_empty_batch_keeps_its_transactions_commit_marker() -> None:
    """As testCommitMarkerRetentionWithEmptyBatch."""
    log = Writer()
    log.data("b=1", "c=1", producer=1)
    log.roll()
    log.data("b=2", "c=2", producer=2)
    log.commit(2)
    log.roll()
    log.singles("b=3", "c=3")
    log.commit(1)
    log.roll()
    log.clean(now=NOW)
    log.rescan(now=NOW)
    log.data("a=4", producer=2)
    log.commit(2)
    log.roll()
    log.clean(8, now=NOW)
    log.rescan(now=NOW)
    log.rescan(now=NOW + DAY_MS)

    first, again, released, stamped, last = log.cleaned()

    assert (surviving(first), last_offsets(first)) == ([4, 5, 6, 7], [1, 3, 4, 5, 6, 7])
    assert last_offsets(again) == last_offsets(first)
    assert (last_offsets(released), horizons(released)) == ([1, 4, 5, 6, 7, 8, 9], {})
    assert horizons(stamped) == {4: NOW + DAY_MS}
    assert (surviving(last), emptied(last)) == ([5, 6, 7, 8, 9], [1])


def test_a_marker_that_is_all_a_producer_left_becomes_an_empty_control_batch() -> None:
    """As testCleanEmptyControlBatch: it keeps the producer's epoch; its transaction was empty."""
    log = Writer()
    log.commit(1)
    log.singles("b=2", "c=3")
    log.roll()
    log.clean(now=NOW)
    log.rescan(now=NOW + DAY_MS)
    log.rescan(now=LONG)

    stamped, removed, again = log.cleaned()

    assert horizons(stamped) == {0: NOW + DAY_MS}
    for told in (removed, again):
        assert (surviving(told), emptied(told), horizons(told)) == ([1, 2], [0], {})
        assert told["batches"][0]["control"] == "COMMIT"
        assert told["last_sequences"] == {"1": -1}


@pytest.mark.parametrize("control", ["COMMIT", "ABORT"])
def test_a_transaction_over_two_segments_is_kept_together(control: str) -> None:
    """As testCommittedTransactionSpanningSegments, testAbortedTransactionSpanningSegments."""
    log = Writer()
    log.data("a=1", producer=1)
    log.roll()
    log.end_of(1, control)
    log.roll()
    log.clean(now=NOW)
    log.clean(now=LONG)

    for told in log.cleaned():
        assert last_offsets(told) == [0, 1]
        assert emptied(told) == ([0] if control == "ABORT" else [])


def test_an_old_batch_goes_although_a_newer_one_has_the_same_sequence() -> None:
    """As testEmptyBatchRemovalWithSequenceReuse: a coordinator always starts at sequence 0."""
    log = Writer()
    for key in "ab":
        log.sequences.clear()
        log.data(f"{key}=1", producer=1)
        log.commit(1)
    log.singles("a=2", "b=2")
    log.roll()
    log.clean(now=NOW)
    log.clean(now=NOW)
    log.clean(now=NOW + DAY_MS)

    first, _, third = log.cleaned()

    assert (surviving(first), last_offsets(first)) == ([1, 3, 4, 5], [1, 2, 3, 4, 5])
    assert (surviving(third), last_offsets(third)) == ([3, 4, 5], [2, 3, 4, 5])


def test_an_empty_batch_keeps_its_transactions_abort_marker_and_index_entry() -> None:
    """As testAbortMarkerRetentionWithEmptyBatch."""
    log = Writer({"preset": "kafka-3.8"})
    log.data("b=1", "c=1", producer=1)
    log.abort(1)
    log.roll()
    log.clean(now=NOW)
    log.rescan(now=NOW)
    log.data("a=2", producer=1)
    log.roll()
    log.clean(3, now=NOW)
    log.rescan(now=NOW)
    log.rescan(now=NOW + DAY_MS)

    first, again, released, stamped, last = log.cleaned()

    for told in (first, again):
        assert (surviving(told), emptied(told), len(told["aborted_txns"])) == ([2], [1], 1)
    assert (last_offsets(released), len(released["aborted_txns"])) == ([2, 3], 1)
    assert (surviving(stamped), stamped["aborted_txns"]) == ([2, 3], [])
    assert surviving(last) == [3]


def test_an_aborted_producers_sequence_stays_until_it_writes_again() -> None:
    """As testLogCleanerRetainsLastSequenceEvenIfTransactionAborted."""
    log = Writer({"preset": "kafka-3.8"})
    log.data("a=1", producer=1)
    log.data("b=1", "c=1", producer=1)
    log.abort(1)
    log.roll()
    log.clean()
    log.step("reload")
    log.data("a=2", "e=2", producer=1)
    log.roll()
    log.clean()

    told = log.answers()

    assert (surviving(told[0]), last_offsets(told[0])) == ([3], [2, 3])
    assert told[1]["last_sequences"] == {"1": 2}
    assert (surviving(told[-1]), last_offsets(told[-1])) == ([3, 4, 5], [3, 5])
    assert told[-1]["last_sequences"] == {"1": 4}
