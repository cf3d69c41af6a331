"""Why is this tombstone, or this value, still here, or already gone?"""

import json
from pathlib import Path
from typing import Any

import pytest

from sim.errors import BadInput
from sim.logfile.explain import explain_key
from sim.logfile.file import load_log_file, log_file_from
from tests.logfile.writer import DAY_MS, Writer

NOW = 1_700_000_000_000
DUE = NOW + DAY_MS


def told(log: Writer, key: str = "k") -> dict[int, str]:
    """What is said of each record of a key, without the words that all of them start with."""
    found = {}
    for one in explain_key(log_file_from(log.document()), key):
        start = f"offset {one.offset} is a {one.kind} of '{key}'. "
        assert one.sentence.startswith(start)
        assert one.sentence.endswith(".")
        assert one.fate == ("gone" if "Gone: " in one.sentence else "here")
        found[one.offset] = one.sentence.removeprefix(start)
    return found


def deleted(**rules: Any) -> Writer:
    """A value and its tombstone in a closed segment, another key after them."""
    log = Writer(rules)
    log.singles("k=1", "k", "x=1")
    log.roll()
    return log


def test_a_tombstone_in_the_active_segment_needs_a_roll() -> None:
    log = Writer()
    log.singles("k=1")
    log.roll()
    log.singles("k")
    log.clean(now=NOW)

    assert told(log) == {
        0: "Still here: a newer record at 1 supersedes it, but that one lies at or above the upper "
        "bound 1 of step 1 (the active segment, from 1, is never cleaned); it needs a roll first; "
        "the first pass that reaches both removes this one.",
        1: "Still here: it lies at or above the upper bound 1 of step 1 (the active segment, from "
        "1, is never cleaned); it needs a roll first; the first pass that sees it gives it a "
        "delete horizon 86,400,000 ms later.",
    }


def test_a_tombstone_that_no_pass_has_reached() -> None:
    log = deleted()
    log.step("reload")

    assert told(log)[1] == (
        "Still here: no pass has reached it yet; the first pass that sees it gives it a delete "
        "horizon 86,400,000 ms later."
    )


def test_a_tombstone_beyond_the_upper_bound_of_the_last_pass() -> None:
    log = Writer()
    log.singles("a=1")
    log.roll()
    log.singles("k")
    log.roll()
    log.clean(bound=1)

    assert told(log)[1].startswith("Still here: it lies at or above the upper bound 1 of step 1; ")


def test_a_tombstone_beyond_a_full_map_has_its_horizon_already() -> None:
    log = Writer()
    log.singles("a=1", "b=1", "k")
    log.roll()
    log.clean(now=NOW, map_capacity=2)

    assert told(log)[2] == (
        "Still here: it lies beyond offset 1, where the offset map of step 1 ended; the delete "
        f"horizon it got in step 1 is {DUE}."
    )


def test_a_tombstone_whose_horizon_is_not_reached() -> None:
    log = deleted()
    log.clean(now=NOW)
    log.clean(now=DUE - 1)
    log.step("reload")

    assert told(log) == {
        0: "Gone: step 1 removed it: superseded by 1.",
        1: f"Still here: its batch got the delete horizon {DUE} in step 1; it goes with the first "
        "pass at or after that time: 86,400,000 ms after step 1 (step 2, at "
        f"{DUE - 1}, was too early); at present nothing below the active segment is dirty, and "
        "without dirty data the cleaner does not run.",
    }


def test_a_tombstone_that_came_with_a_horizon() -> None:
    log = Writer()
    log.data("k", delete_horizon_ms=500)
    log.singles("x=1")
    log.roll()
    log.clean(now=400)
    log.data("y=1")

    assert told(log)[0].startswith(
        "Still here: its batch came with the delete horizon 500; it goes with the first pass at or "
        "after that time: 100 ms after step 1 (step 1, at 400, was too early)"
    )


def test_a_pass_that_could_have_taken_it_but_had_nothing_to_do() -> None:
    log = deleted()
    log.clean(now=NOW)
    log.clean(3, now=DUE + 1)

    assert (
        "; nothing was dirty below the upper bound 3 in step 2; at present nothing" in told(log)[1]
    )


def test_a_tombstone_that_went_at_its_horizon() -> None:
    log = deleted()
    log.clean(now=NOW)
    log.rescan(now=DUE)

    assert told(log)[1] == (
        f"Gone: step 2 removed it: tombstone past its horizon, {DUE}, set in step 1; the pass ran "
        f"at {DUE} ms."
    )


def test_a_tombstone_that_a_newer_record_supersedes() -> None:
    log = deleted()
    log.clean(now=NOW)
    log.data("k=2")
    log.step("roll")

    assert told(log)[1] == (
        "Still here: a newer record at 3 supersedes it, but no pass has reached that one; the "
        "first pass that reaches both removes this one."
    )
    log.clean(3, now=NOW)
    assert told(log)[1] == "Gone: step 4 removed it: superseded by 3."
    assert told(log)[3] == (
        "Still here: it is the newest record of its key and has a value; it stays until another "
        "wins."
    )


def test_a_value_that_is_back_because_its_tombstone_went_too_early() -> None:
    """A checkpoint that was moved past the value by hand: the pass maps the tombstone alone."""
    log = Writer({"tombstone_removal": "immediate", "strategy": "timestamp"})
    log.singles("k=1")
    log.roll()
    log.singles("k")
    for segment, timestamp in zip(log.segments, (9, 5), strict=True):
        segment["batches"][0]["records"][0]["timestamp_ms"] = timestamp
    log.roll()
    log.clean(1)

    assert told(log)[0].startswith("Still here: it is the winning record")
    assert told(log)[1] == (
        "Gone: step 1 removed it: tombstone past its horizon, at 0 ms; tombstone_removal immediate "
        "waits for nothing."
    )


def test_a_value_whose_tombstone_a_given_map_did_not_know() -> None:
    log = Writer({"tombstone_removal": "immediate"})
    log.singles("k=1", "k", "x=1")
    log.roll()
    log.clean(offset_map={}, map_latest_offset=2)

    assert told(log)[0] == (
        "Still here: the tombstone at 1 that deleted it went in step 1 before a pass had compared "
        "the two, so the value is back."
    )


def test_a_lower_version_beside_a_clean_higher_one() -> None:
    log = Writer({"strategy": "timestamp"})
    log.data("k=1")
    log.segments[0]["batches"][0]["records"][0]["timestamp_ms"] = 9
    log.roll()
    log.clean(now=NOW)
    log.data("k=2")
    log.step("roll")
    log.clean(1, now=NOW)

    assert told(log)[1] == (
        "Still here: the record at 0 has a higher version and supersedes it, but that one lay in "
        "the clean section, below 1, in step 4, and a map of dirty records only (map_range: dirty) "
        "does not know it; no later pass compares the two either."
    )


def test_a_given_map_that_says_nothing_of_a_newer_record() -> None:
    log = Writer()
    log.singles("k=1", "k=2")
    log.roll()
    log.clean(offset_map={}, map_latest_offset=1)

    assert told(log)[0].endswith("but the map given in step 1 does not say so.")


def test_data_of_an_aborted_transaction() -> None:
    log = Writer()
    log.data("k=1", producer=4)
    log.abort(4)
    log.roll()
    log.data("k=2", producer=4)
    log.abort(4)
    log.clean(bound=2)

    assert told(log) == {
        0: "Gone: step 1 removed it: its transaction was aborted (producer 4, ABORT at 1).",
        2: "Still here: it lies at or above the upper bound 2 of step 1 (the active segment, from "
        "2, is never cleaned); it needs a roll first; its transaction was aborted (ABORT at 3), so "
        "the first pass that reaches it takes it away.",
    }


def test_before_kip_534_the_last_modification_of_the_segment_counts() -> None:
    log = deleted(preset="kafka-2.8", segment_last_modified_ms=5)
    log.clean(delete_horizon_ms=3)

    assert told(log)[1] == (
        "Still here: its segment's last modification 5 is above the horizon 3 of step 1's pass; it "
        "goes with the first pass whose horizon is at least that. Unless a step gives one, the "
        "horizon is the last modification of the last clean segment minus 86,400,000 ms "
        "(delete.retention.ms)."
    )
    log.clean(delete_horizon_ms=5)
    assert told(log)[1] == (
        "Gone: step 2 removed it: tombstone past its horizon, its segment's last modification 5 is "
        "not above the pass's horizon 5."
    )


def test_leo_retention_keeps_the_last_record() -> None:
    log = Writer({"fix": "leo_retention", "tombstone_removal": "immediate"})
    log.singles("k=1", "k")
    log.roll()
    log.clean(now=NOW)

    assert told(log)[1] == (
        "Still here: fix: leo_retention keeps the last record of the whole log, this one, whatever "
        "it is; it may go once another is appended after it."
    )


def test_leo_retention_keeps_a_superseded_last_record() -> None:
    log = Writer({"fix": "leo_retention", "strategy": "timestamp"})
    log.data("k=1")
    log.segments[0]["batches"][0]["records"][0]["timestamp_ms"] = 9
    log.singles("k=2")
    log.roll()
    log.clean(now=NOW)

    assert "supersedes it, but fix: leo_retention keeps the last record" in told(log)[1]


def test_never_keeps_it_for_ever() -> None:
    log = deleted(tombstone_removal="never")
    log.clean(now=NOW)

    assert told(log)[1] == (
        "Still here: tombstone_removal: never keeps a winning tombstone for ever."
    )


def test_a_cleaning_checkpoint_starts_the_wait_anew_with_each_pass() -> None:
    log = deleted(tombstone_removal="cleaning_checkpoint", delete_retention_ms=100)
    log.clean(now=1_000)
    log.clean(now=1_099)

    assert told(log)[1] == (
        "Still here: the last pass, step 2 at 1099 ms, ended above it, at 3; it goes with the next "
        "pass if that comes at 1199 ms or later, and each pass before then starts the wait anew."
    )
    log.clean(now=1_199)
    assert told(log)[1] == (
        "Gone: step 3 removed it: tombstone past its horizon, the pass before, at 1099 ms, ended "
        "above it, at 3, and the pass at 1199 ms came 100 ms after it."
    )


def test_a_horizon_of_the_record_itself() -> None:
    log = deleted(tombstone_removal="record_horizon")
    log.clean(now=NOW)

    assert told(log)[1].startswith(f"Still here: it got the delete horizon {DUE} in step 1")


def test_coordinated_removal_waits_for_a_clean_pass_past_it() -> None:
    """In a log file one replica is all there are: its own first dirty offset is the limit."""
    log = deleted(tombstone_removal="coordinated", delete_retention_ms=10)
    log.clean(now=NOW)
    log.clean(1, now=NOW + 10)

    assert told(log)[1].startswith(
        f"Still here: its delete horizon {NOW + 10} is past, but it is not below 1, up to where"
    )
    log.clean(2, now=NOW + 10)
    assert told(log)[1].startswith("Gone: step 3")


def test_an_unknown_key_is_told_which_keys_there_are() -> None:
    log = deleted()
    log.step("reload")
    log.data(*[f"k{number}=v" for number in range(30)])

    with pytest.raises(BadInput) as raised:
        explain_key(log_file_from(log.document()), "q")

    text = str(raised.value)
    assert text.startswith("--explain q: no record has this key; there are: k, x, k0, k1, ")
    assert text.endswith("k17 and 12 more")


def test_a_record_below_the_version_of_a_missing_key_says_so() -> None:
    path = Path(__file__).parents[2] / "scenarios/kip280/log_negative_version_lost.json"
    (explanation,) = explain_key(load_log_file(path), "K")

    assert "version below that of a missing key, and no record of its key" in explanation.sentence


TRANSACTIONS = Path(__file__).parents[2] / "scenarios" / "transactions"


def test_a_tombstone_that_was_not_in_the_map_took_nothing_along() -> None:
    file = load_log_file(TRANSACTIONS / "log_index_seek.json")
    why = (
        "offset 6 counted as aborted, as step 2 did not meet the ABORT marker at 3 that ends an "
        "earlier transaction of producer 1: its map was read from behind it."
    )

    value, tombstone = explain_key(file, "K")
    assert value.sentence.endswith(
        f"the tombstone at 6 that deleted it went in step 2 without it, so the value is back: {why}"
    )
    assert tombstone.sentence.endswith(f"; it took no older record along: {why}")


def test_a_value_stays_beside_the_tombstone_that_was_not_in_the_map() -> None:
    document = json.loads((TRANSACTIONS / "log_index_seek.json").read_text(encoding="utf-8"))
    first, second = document["steps"]
    document["steps"] = [first, second | {"now_ms": first["now_ms"]}]

    value, tombstone = explain_key(log_file_from(document), "K")
    assert tombstone.fate == "here"
    assert value.sentence.endswith(
        "Still here: a newer record at 6 supersedes it, but offset 6 counted as aborted, as step 2 "
        "did not meet the ABORT marker at 3 that ends an earlier transaction of producer 1: its "
        "map was read from behind it; no later pass compares the two."
    )


def test_committed_data_goes_that_counts_as_aborted() -> None:
    file = load_log_file(TRANSACTIONS / "log_evicted_abort_takes_committed_data.json")

    (value,) = explain_key(file, "k")
    assert value.sentence == (
        "offset 3 is a value of 'k'. Gone: step 3 removed it: offset 3 counted as aborted, as step "
        "3 did not meet the ABORT marker at 1 that ends an earlier transaction of producer 1: it "
        "is gone."
    )
