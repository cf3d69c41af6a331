"""The fine print of log files, sentence by sentence: what is told after a step."""

from tests.logfile.writer import (
    Writer,
    emptied,
    gone,
    horizons,
    last_offsets,
    surviving,
)


def test_only_the_copying_pass_counts_messages_and_not_those_of_batches_dropped_whole() -> None:
    log = Writer({"preset": "kafka-3.8"})
    log.data("a=1", "b=1", producer=1)
    log.abort(1)
    log.data("c=1", "c=2")
    log.data("d=1", producer=1)
    log.roll()
    log.clean()

    (told,) = log.cleaned()

    assert (told["messages_read"], told["messages_written"]) == (4, 3)


def test_removed_speaks_of_one_pass_only() -> None:
    log = Writer()
    log.singles("a=1", "a=2")
    log.roll()
    log.clean()
    log.data("a=3")
    log.roll()
    log.clean(2)

    first, second = log.cleaned()

    assert (gone(first), gone(second)) == ({0: "superseded by 1"}, {1: "superseded by 2"})


def test_the_winner_can_be_lower() -> None:
    log = Writer({"preset": "kip-280", "strategy": "timestamp"})
    log.data("a=1")
    log.segments[-1]["batches"][0]["records"][0]["timestamp_ms"] = 7
    log.singles("a=2")
    log.roll()
    log.clean()

    assert gone(log.cleaned()[0]) == {1: "superseded by 0"}


def test_last_sequences_are_of_all_producers() -> None:
    log = Writer()
    log.data("a=1", "b=1", producer=1)
    log.data("c=1", producer=2, base_sequence=-1)
    log.commit(3)
    log.data("d=1", producer=4)
    log.end_of(4, "COMMIT", producer_epoch=1)
    log.data("e=1", "f=1", producer=5, base_sequence=2**31 - 1)
    log.step("roll")

    (told,) = log.answers()

    assert told["last_sequences"] == {"1": 1, "2": -1, "3": -1, "4": -1, "5": 0}


def test_a_batch_without_a_sequence_is_kept_for_its_producer_as_any_other() -> None:
    log = Writer({"preset": "kafka-3.8"})
    log.data("a=1", producer=2, base_sequence=-1)
    log.data("a=2")
    log.roll()
    log.clean()

    assert last_offsets(log.cleaned()[0]) == [0, 1]


def two_open() -> Writer:
    """Producer 2 has a transaction open from 2 on when that of producer 1 is aborted."""
    log = Writer({"preset": "kafka-3.8"})
    log.write(
        {
            "base_offset": 0,
            "last_offset": 0,
            "records": [],
            "producer_id": 1,
            "producer_epoch": 0,
            "base_sequence": 0,
            "transactional": True,
        }
    )
    log.data("a=1", producer=1)
    log.data("b=1", producer=2)
    log.abort(1)
    log.abort(7)
    log.roll()
    return log


def test_the_index_of_aborted_transactions_is_derived_when_the_log_is_loaded() -> None:
    """The first batch counts although it is empty; an ABORT that closes nothing has no entry."""
    log = two_open()
    log.step("roll")

    (told,) = log.answers()

    assert told["aborted_txns"] == [
        {"producer_id": 1, "first_offset": 0, "last_offset": 3, "last_stable_offset": 2}
    ]


def test_without_another_open_transaction_the_stable_offset_is_after_the_marker() -> None:
    log = Writer()
    log.data("a=1", producer=1)
    log.data("b=1")
    log.abort(1)
    log.step("roll")

    assert log.answers()[0]["aborted_txns"][0]["last_stable_offset"] == 3


def test_reload_keeps_the_index_and_rebuilds_producers() -> None:
    """The first batch of the transaction is gone then, but not what the segment says of it."""
    log = two_open()
    log.clean(bound=5)
    log.step("reload")

    cleaned, reloaded = log.answers()

    assert reloaded["aborted_txns"] == cleaned["aborted_txns"] != []
    assert reloaded["last_sequences"] == {"1": 0, "2": 0, "7": -1}


def test_a_duplicate_is_one_of_the_last_five_batches() -> None:
    log = Writer()
    for number in range(6):
        log.data(f"k{number}=v", producer=1)
    retry = {"producer_id": 1, "producer_epoch": 0, "keys": ["k"]}
    for sequence in (0, 1, 5, 6):
        log.step("produce_duplicate", base_sequence=sequence, **retry)
    log.step("produce_duplicate", base_sequence=5, **(retry | {"producer_epoch": 1}))
    log.step("produce_duplicate", base_sequence=5, **(retry | {"producer_id": 2}))
    log.step("produce_duplicate", base_sequence=4, **(retry | {"keys": ["k", "l"]}))

    told = log.answers()

    assert [step["duplicate"] for step in told] == [False, True, True, False, False, False, False]
    assert all(step["log_end_offset"] == 6 for step in told), "nothing is appended"


def test_a_duplicate_whose_sequences_wrap_is_recognised() -> None:
    log = Writer()
    log.data("a=1", "b=1", producer=1, base_sequence=2**31 - 1)
    log.step(
        "produce_duplicate",
        producer_id=1,
        producer_epoch=0,
        base_sequence=2**31 - 1,
        keys=["a", None],
    )

    assert log.answers()[0]["duplicate"] is True


def test_appends_are_not_fenced() -> None:
    log = Writer()
    log.step("roll")
    log.data("a=1", producer=1, producer_epoch=5)
    log.data("b=1", producer=1, producer_epoch=3, base_sequence=77)

    assert log.answers()[-1]["last_sequences"] == {"1": 77}


def test_the_largest_timestamp_is_recomputed_for_every_rebuilt_batch() -> None:
    """One that was copied whole or emptied keeps it."""
    log = Writer({"preset": "kafka-4.0", "tombstone_removal": "immediate"})
    for words in (("a=1", "b=1"), ("a=2",), ("c",)):
        log.data(*words)
        batch = log.segments[-1]["batches"][-1]
        for place, written in enumerate(batch["records"]):
            written["timestamp_ms"] = 90 - written["offset"] - place
        batch["timestamp_ms"] = max(written["timestamp_ms"] for written in batch["records"])
    log.roll()
    log.clean()

    (told,) = log.cleaned()

    assert [batch["max_timestamp_ms"] for batch in told["batches"]] == [88, 88, 87]
    assert emptied(told) == [3]


def test_a_batch_that_names_no_timestamp_has_the_largest_of_its_records() -> None:
    log = Writer()
    log.data("a=1", "b=1")
    log.segments[-1]["batches"][0]["records"][0]["timestamp_ms"] = 12
    log.step("roll")

    assert log.answers()[0]["batches"][0]["max_timestamp_ms"] == 12


def test_an_existing_horizon_stays_and_a_new_one_is_counted_from_the_pass() -> None:
    log = Writer({"delete_retention_ms": 50})
    log.data("a", delete_horizon_ms=1_000)
    log.data("b")
    log.singles("c=1")
    log.roll()
    log.clean(now=900)
    log.rescan(now=949)
    log.rescan(now=950)

    first, early, due = log.cleaned()

    assert horizons(first) == horizons(early) == {0: 1_000, 1: 950}
    assert surviving(due) == [0, 2]


def record_bytes(key: str | dict[str, str], value: str | dict[str, str]) -> int:
    """What one record adds to the 61 bytes of a batch's header."""
    log = Writer()
    log.write(
        {
            "base_offset": 0,
            "last_offset": 0,
            "records": [{"offset": 0, "key": key, "value": value}],
        }
    )
    log.step("reload")
    return int(log.answers()[0]["batches"][0]["size_bytes"]) - 61


def test_size_counts_the_bytes_of_keys_and_values_text_or_not() -> None:
    assert record_bytes("k", "") == 8
    assert record_bytes("é", "") == 9
    assert record_bytes({"hex": "ff"}, {"hex": "00ff80"}) == 11


def test_a_horizon_of_the_file_is_what_timestamps_count_from() -> None:
    log = Writer()
    log.data("a", delete_horizon_ms=1_000)
    log.end_of(4, "COMMIT", delete_horizon_ms=1_000)
    log.data("b")
    log.end_of(4, "COMMIT")
    log.step("reload")

    sizes = [batch["size_bytes"] for batch in log.answers()[0]["batches"]]
    assert sizes == [70, 79, 69, 78]


def test_the_same_bytes_are_the_same_key_however_they_are_written() -> None:
    log = Writer()
    for offset, key in enumerate([{"hex": "ff"}, "k", {"hex": "6b"}, {"hex": "ff"}, "", None]):
        record = {"offset": offset, "key": key, "value": "v"}
        log.write({"base_offset": offset, "last_offset": offset, "records": [record]})
    log.roll()
    log.clean()

    assert gone(log.cleaned()[0]) == {
        0: "superseded by 3",
        1: "superseded by 2",
        5: "no key",
    }


def test_log_append_time_outlives_the_record_that_the_largest_timestamp_was_of() -> None:
    def largest(timestamp_type: str) -> list[int]:
        log = Writer()
        log.data("a=1", "b=1", timestamp_type=timestamp_type, timestamp_ms=9)
        log.segments[-1]["batches"][0]["records"][0]["timestamp_ms"] = 9
        log.segments[-1]["batches"][0]["records"][1]["timestamp_ms"] = 3
        log.singles("a=2")
        log.roll()
        log.clean()
        return [batch["max_timestamp_ms"] for batch in log.cleaned()[0]["batches"]]

    assert largest("CreateTime") == [3, -1]
    assert largest("LogAppendTime") == [9, -1]


def test_a_change_of_the_leader_is_never_compacted_away() -> None:
    log = Writer()
    log.write(
        {
            "base_offset": 0,
            "last_offset": 0,
            "control": "LEADER_CHANGE",
            "records": [{"offset": 0, "marker": "LEADER_CHANGE"}],
        }
    )
    log.singles("\0\0\0\3=user", "=unkeyed", "b=1")
    log.roll()
    log.clean()
    log.rescan(now=10**15)

    assert [last_offsets(told) for told in log.cleaned()] == [[0, 1, 3], [0, 1, 3]]
    log.rules["preset"] = "kafka-2.8"
    assert gone(log.cleaned()[0]) == {0: "superseded by 1", 2: "no key"}


def test_a_batch_is_written_anew_for_a_horizon_that_does_not_fit() -> None:
    """Which shows where records get the time of their batch, that their producer did not give."""
    log = Writer({"delete_retention_ms": 2**63 - 1})
    log.data("a", "b=1", timestamp_type="LogAppendTime", timestamp_ms=0)
    log.segments[-1]["batches"][0]["records"][1]["timestamp_ms"] = 900
    log.roll()
    log.clean(now=1)
    log.steps.insert(0, {"op": "reload"})

    before, after = (told["batches"][0] for told in log.answers())

    assert before["size_bytes"] - after["size_bytes"] == 1
    assert after["delete_horizon_ms"] is None
