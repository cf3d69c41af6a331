"""The fine print of log files, sentence by sentence: presets, rules and fixes."""

import pytest

from sim.files.document import Document
from sim.logfile.rules import ALLOWED, LogRules, rules_at
from tests.logfile.writer import (
    Writer,
    emptied,
    gone,
    horizons,
    last_offsets,
    surviving,
)

TABLE = [
    ("kafka-4.0", "horizon", "empty_batch", "dirty", "last_long"),
    ("kafka-3.8", "horizon", "none", "dirty", "last_long"),
    ("kafka-2.8", "last_modified", "none", "dirty", "last_long"),
    ("kip-280-pr8103", "last_modified", "none", "dirty", "first_varint"),
    ("kip-280-azure", "last_modified", "none", "dirty", "unchecked_varint"),
    ("kip-280", "horizon", "none", "full", "last_long"),
]


def rules_of(values: object) -> LogRules:
    """The rules that a log file with this `rules` object has."""
    return rules_at(values, Document("", values).top)


@pytest.mark.parametrize(("preset", "removal", "fix", "map_range", "form"), TABLE)
def test_a_preset_sets_the_rules_that_concern_one_cleaner(
    preset: str, removal: str, fix: str, map_range: str, form: str
) -> None:
    rules = rules_of({"preset": preset}).as_dict()

    assert (rules["tombstone_removal"], rules["fix"]) == (removal, fix)
    assert (rules["map_range"], rules["header_form"]) == (map_range, form)
    assert rules["strategy"] == "offset"
    assert (rules["delete_retention_ms"], rules["segment_last_modified_ms"]) == (86_400_000, None)


def test_without_a_preset_it_is_kafka_4_0() -> None:
    assert rules_of(None).as_dict() == rules_of({"preset": "kafka-4.0"}).as_dict()


def test_a_rule_beside_the_preset_overrides_it() -> None:
    rules = rules_of({"preset": "kip-280", "fix": "leo_retention", "map_range": "dirty"})

    assert (rules.rules.cleaner.fix, rules.rules.cleaner.map_range) == ("leo_retention", "dirty")
    assert set(ALLOWED) == set(rules.as_dict())


def expired(fix: str) -> Writer:
    """Two tombstones that may go; the active segment is empty."""
    log = Writer({"fix": fix, "tombstone_removal": "immediate"})
    log.data("k=1", "k")
    log.singles("j")
    log.roll()
    return log


def test_empty_batch_keeps_the_batch_that_ends_at_the_upper_bound() -> None:
    log = expired("empty_batch")
    log.clean()

    (told,) = log.cleaned()

    assert (surviving(told), last_offsets(told)) == ([], [2])


def test_empty_batch_keeps_nothing_where_a_gap_lies_below_the_bound() -> None:
    log = Writer({"tombstone_removal": "immediate"})
    log.singles("k")
    log.roll(missing=3)
    log.clean()

    assert log.cleaned()[0]["batches"] == []


@pytest.mark.parametrize(
    ("last", "why"),
    [("k", "expired"), ("j=2", "superseded by a higher version"), ("=x", "without a key")],
)
def test_leo_retention_keeps_the_last_record_of_the_log_whatever_it_is(last: str, why: str) -> None:
    log = Writer(
        {"fix": "leo_retention", "strategy": "timestamp", "tombstone_removal": "immediate"}
    )
    log.data("j=1")
    log.segments[-1]["batches"][0]["records"][0]["timestamp_ms"] = 5
    log.data("m", last)
    log.roll()
    log.clean()

    (told,) = log.cleaned()

    assert surviving(told) == [0, 2], why
    assert gone(told) == {1: "tombstone past its horizon"}, "its batch mates follow the rules"


def test_leo_retention_keeps_an_aborted_last_record() -> None:
    """Its marker lies below it only in a log whose tail was cleaned; here it is the last data."""
    log = Writer({"fix": "leo_retention", "preset": "kafka-3.8"})
    log.data("a=1", producer=1)
    log.abort(1)
    log.roll()
    log.clean()

    assert (surviving(log.cleaned()[0]), gone(log.cleaned()[0])) == ([1], {0: "aborted"})


def test_leo_retention_looks_at_the_whole_log_not_at_the_round() -> None:
    log = expired("leo_retention")
    log.singles("z=1")
    log.clean(bound=3)

    assert surviving(log.cleaned()[0]) == [3]


def test_legacy_presets_ignore_batch_horizons_and_pass_them_through() -> None:
    log = Writer({"preset": "kafka-2.8", "segment_last_modified_ms": 5})
    log.data("a=1", "k", delete_horizon_ms=1)
    log.data("b=1", producer=1, delete_horizon_ms=1)
    log.data("b=2")
    log.roll()
    log.clean(now=99, delete_horizon_ms=4)

    (told,) = log.cleaned()

    assert (surviving(told), horizons(told)) == ([0, 1, 3], {0: 1})
    assert (emptied(told), told["batches"][1]["delete_horizon_ms"]) == ([2], None)


def test_the_flag_of_kip_87_marks_a_tombstone_if_the_rules_say_so() -> None:
    """Without one, a record without value has it."""
    log = Writer({"tombstone_mark": "flag"})
    log.data("a=1", "b", "c")
    first, _, last = log.segments[0]["batches"][0]["records"]
    first["flag"], last["flag"] = True, False
    log.step("roll")

    assert log.answers()[0]["tombstone_offsets"] == [0, 1]
