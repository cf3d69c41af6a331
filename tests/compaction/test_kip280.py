"""Every sentence of KIP-280 that promises something about the cleaner, one test each.

The names of the sections stand in the docstrings. What PR 8103 and the fork made of it:
test_kip280_variants.py. What the KIP recommends to consumers is told in kip280_69 to _71, its
migration plan in scenarios/upgrade.
"""

from pathlib import Path

import pytest
import yaml

from sim.compaction import (
    FIXES,
    STRATEGIES,
    entry_bytes,
    map_capacity,
    rounds_needed,
    strategy_for,
)
from sim.compaction.strategies import encode_version
from sim.errors import BadInput
from sim.log import Record, Segment
from sim.rules import Rules
from sim.scenario.file.load import load_scenario
from sim.scenario.file.topics import topic_strategy
from tests.compaction.logs import batch, batches_of, offsets_of, passes, record, segment


def with_headers(offset: int, *headers: tuple[str, bytes]) -> Record:
    """A record of the key k with these headers, in this order."""
    return record(offset, "k")._replace(headers=headers)


def log_of(*records: Record) -> list[Segment]:
    """A log of one segment, each record in a batch of its own."""
    return [segment(*map(batch, records))]


def left(*records: Record, strategy: str = "header", header: str | None = None) -> list[int]:
    """Offsets that one pass with the full map leaves of a log of these records."""
    found = passes(log_of(*records), 0, strategy=strategy_for(strategy, header=header))
    return offsets_of(found.segments)


# Which record wins.


def test_compaction_is_by_offset_unless_something_else_is_asked_for() -> None:
    """Public Interfaces, `compaction.strategy`: the default is offset. Compatibility: no impact."""
    newer_by_header_and_time = record(0, "k", version=9, timestamp_ms=9)
    records = newer_by_header_and_time, record(1, "k", version=1, timestamp_ms=1)

    assert Rules().cleaner.strategy == "offset"
    assert left(*records, strategy=Rules().cleaner.strategy) == [1]


def test_the_three_strategies_disagree_about_one_log() -> None:
    """Public Interfaces: offset, timestamp and header are the values."""
    records = (
        record(0, "k", version=9, timestamp_ms=2),
        record(1, "k", version=2, timestamp_ms=9),
        record(2, "k", version=1, timestamp_ms=1),
    )

    winners = {"offset": [2], "timestamp": [1], "header": [0]}
    assert {name: left(*records, strategy=name) for name in winners} == winners


@pytest.mark.parametrize("strategy", ["timestamp", "header"])
def test_of_equal_versions_the_higher_offset_stays(strategy: str) -> None:
    """Proposed Changes: an equal version falls back to the offset."""
    records = [record(offset, "k", version=5, timestamp_ms=5) for offset in range(3)]

    assert left(*records, strategy=strategy) == [2]


def test_without_the_header_in_any_record_the_offset_decides() -> None:
    """Proposed Changes: both versions missing."""
    assert left(record(0, "k"), record(1, "k")) == [1]


@pytest.mark.parametrize(
    ("records", "offset"),
    [
        ((record(0, "k", version=1), record(1, "k")), 0),
        ((record(0, "k"), record(1, "k", version=1)), 1),
        ((record(0, "k", version=-7), record(1, "k")), 0),
    ],
)
def test_a_record_with_the_header_stays_and_one_without_goes(
    records: tuple[Record, ...], offset: int
) -> None:
    """Proposed Changes: one version missing, whichever comes first and however low the other."""
    assert left(*records) == [offset]


def test_of_a_duplicated_header_the_last_occurrence_counts() -> None:
    """Public Interfaces, `compaction.strategy.header`."""
    high_then_low = with_headers(0, ("version", encode_version(9)), ("version", encode_version(1)))
    low_then_high = with_headers(1, ("version", encode_version(1)), ("version", encode_version(9)))
    middle = record(2, "k", version=5)

    assert left(high_then_low, middle) == [2]
    assert left(low_then_high, middle) == [1]


@pytest.mark.parametrize("value", [b"", b"9", b"\0\0\0\x09", b"\0" * 8 + b"\x09"])
def test_a_value_that_is_not_eight_bytes_is_a_missing_header(value: bytes) -> None:
    """Proposed Changes: the version is a long, that is 8 bytes."""
    assert left(record(0, "k", version=1), with_headers(1, ("version", value))) == [0]
    assert left(record(0, "k"), with_headers(1, ("version", value))) == [1]


def test_versions_compare_as_signed_longs_over_their_whole_range() -> None:
    """Proposed Changes: a long; the lowest one is below 0 and still a version."""
    versions = [0, -(1 << 63), (1 << 63) - 1, 1 << 56, -1]
    records = [record(offset, "k", version=v) for offset, v in enumerate(versions)]

    assert left(*records) == [2]
    assert left(*records[:2]) == [0]


def test_only_the_configured_header_is_read() -> None:
    """Public Interfaces, `compaction.strategy.header`: the name of the header to read."""
    by_sequence = with_headers(0, ("sequence", encode_version(9)), ("version", encode_version(1)))
    by_version = with_headers(1, ("sequence", encode_version(1)), ("version", encode_version(9)))

    assert left(by_sequence, by_version, header="sequence") == [0]
    assert left(by_sequence, by_version, header="version") == [1]


def test_keys_are_compared_each_with_itself() -> None:
    """Proposed Changes: the version orders the records of one key."""
    assert left(record(0, "a", version=1), record(1, "b", version=9)) == [0, 1]


def test_a_tombstone_is_ordered_by_its_version_like_any_record() -> None:
    """Proposed Changes: a late delete loses, a delete of a higher version wins."""
    value, late = record(0, "k", version=5), record(1, "k", None, version=4)

    assert left(value, late) == [0]
    assert left(record(0, "k", None, version=5), record(1, "k", version=4)) == [0]


# A later round.


@pytest.mark.parametrize("strategy", ["timestamp", "header"])
def test_a_late_record_loses_to_the_clean_winner_of_its_key(strategy: str) -> None:
    """Proposed Changes: the winner stays; what a map of dirty keys cannot keep (PR 8103)."""
    log = log_of(record(0, "k", version=5, timestamp_ms=5), record(1, "k", version=3))
    second = {"first_dirty_offset": 1, "strategy": STRATEGIES[strategy]}

    assert offsets_of(passes(log, 0, **second).segments) == [0]
    assert offsets_of(passes(log, 0, full_map=False, **second).segments) == [0, 1]


def test_the_log_end_record_stays_or_an_empty_batch_takes_its_place() -> None:
    """Special case where we need to retain LEO: the two options."""
    log = log_of(record(0, "k", version=5), record(1, "k", version=3))
    kept = {}
    for fix in ("none", "leo_retention", "empty_batch"):
        found = passes(log, 0, fix=FIXES[fix], strategy=STRATEGIES["header"], upper_bound=2)
        ends = [each.last_offset for each in batches_of(found.segments)]
        kept[fix] = offsets_of(found.segments), ends

    assert kept == {
        "none": ([0], [0]),
        "leo_retention": ([0, 1], [0, 1]),
        "empty_batch": ([0], [0, 1]),
    }


# What it costs.


def test_a_version_costs_eight_more_bytes_an_entry_of_the_offset_map() -> None:
    """Proposed Changes, memory: 24 bytes a key by offset, 32 by version."""
    buffer = 24 * 32 * 100
    keys = {"offset": 3_200, "timestamp": 2_400, "header": 2_400}

    assert {name: map_capacity(buffer, 1.0, STRATEGIES[name]) for name in keys} == keys
    assert {entry_bytes(each) for each in STRATEGIES.values()} == {24, 32}


@pytest.mark.parametrize(("keys", "rounds"), [(0, 0), (1, 1), (100, 1), (101, 2), (200, 2)])
def test_so_many_keys_take_so_many_rounds(keys: int, rounds: int) -> None:
    """Proposed Changes, memory: fewer keys fit, hence more rounds."""
    assert rounds_needed(keys, 100) == rounds
    with pytest.raises(ValueError, match="without room"):
        rounds_needed(keys, 0)


# The settings.


def rules_in(folder: Path, text: str) -> Rules:
    """The rules of a scenario file of these lines."""
    path = folder / "x.yaml"
    path.write_text(f"format: replog-scenario/1\n{text}", encoding="utf-8")
    return load_scenario(path).rules


BROKER = """broker:
  log.cleaner.compaction.strategy: header
  log.cleaner.compaction.strategy.header: sequence
"""


def test_the_brokers_strategy_is_the_default_of_its_topics(tmp_path: Path) -> None:
    """Public Interfaces, `log.cleaner.compaction.strategy` and `….header`."""
    rules = rules_in(tmp_path, BROKER)

    assert (rules.cleaner.strategy, rules.topic.strategy_header) == ("header", "sequence")


def test_a_topic_overrides_the_brokers_strategy_and_header_each_for_itself(tmp_path: Path) -> None:
    """Public Interfaces, `compaction.strategy` and `compaction.strategy.header`."""
    by_time = rules_in(tmp_path, BROKER + "topic: {compaction.strategy: timestamp}\n")
    other = rules_in(tmp_path, BROKER + "topic: {compaction.strategy.header: lsn}\n")

    assert by_time.cleaner.strategy == "timestamp"
    assert (other.cleaner.strategy, other.topic.strategy_header) == ("header", "lsn")


@pytest.mark.parametrize(
    "text",
    [
        "topic: {compaction.strategy: newest}\n",
        "topic: {compaction.strategy: headers}\n",
        "broker: {log.cleaner.compaction.strategy: newest}\n",
    ],
)
def test_an_unknown_strategy_is_refused_and_the_known_ones_are_named(
    tmp_path: Path, text: str
) -> None:
    """Public Interfaces: valid values."""
    with pytest.raises(BadInput, match=r"x\.yaml:2: .*offset.*timestamp.*header"):
        rules_in(tmp_path, text)


@pytest.mark.parametrize("text", ["", "topic: {}\n", "topic: {compaction.strategy: null}\n"])
def test_without_a_strategy_anywhere_it_is_the_offset(tmp_path: Path, text: str) -> None:
    """Public Interfaces, compaction strategies, offset: also when the setting is not there."""
    assert rules_in(tmp_path, text).cleaner.strategy == "offset"


@pytest.mark.parametrize("empty", ['""', '" "'])
def test_an_empty_strategy_is_the_offset(tmp_path: Path, empty: str) -> None:
    """Public Interfaces, compaction strategies, offset: also when the setting is empty."""
    of_the_broker = f"broker: {{log.cleaner.compaction.strategy: {empty}}}\n"
    of_the_topic = f"topic: {{compaction.strategy: {empty}}}\n"

    assert rules_in(tmp_path, of_the_broker).cleaner.strategy == "offset"
    assert rules_in(tmp_path, BROKER + of_the_topic).cleaner.strategy == "offset"


def test_a_strategy_may_be_the_key_of_a_header_where_drafts_are_followed(tmp_path: Path) -> None:
    """Proposed Changes, in the page's versions of 2018: any name but offset and timestamp."""
    drafts = "broker: {strategy_names: header_keys}\n"
    for name in ("Lsn", "header"):
        rules = rules_in(tmp_path, f"{drafts}topic: {{compaction.strategy: {name}}}\n")
        assert (rules.cleaner.strategy, rules.topic.strategy_header) == ("header", name)
    for name in ("offset", "timestamp", '""'):
        rules = rules_in(tmp_path, f"{drafts}topic: {{compaction.strategy: {name}}}\n")
        assert rules.cleaner.strategy == (name if name != '""' else "offset")
    both = "topic: {compaction.strategy: lsn, compaction.strategy.header: version}\n"
    with pytest.raises(BadInput, match=r"x\.yaml:3: .*'lsn' is the key of a header already"):
        rules_in(tmp_path, drafts + both)


TOPICS = Path(__file__).parents[2] / "scenarios" / "topics"


def test_topics_of_one_cluster_have_strategies_of_their_own() -> None:
    """Public Interfaces: the topic's setting, where it has one, else the broker's."""
    found = {path.stem: topic_strategy(path) for path in TOPICS.iterdir()}
    documents = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in TOPICS.iterdir()]

    assert {name: (one.strategy, one.header, one.given_in) for name, one in found.items()} == {
        "timed_topic_of_the_brokers_strategy": ("header", "version", "broker"),
        "timed_topic_by_offset": ("offset", "", "topic"),
        "timed_topic_by_nothing": ("offset", "", "topic"),
        "timed_topic_by_timestamp": ("timestamp", "", "topic"),
        "timed_topic_with_a_header_of_its_own": ("header", "sequence", "broker"),
    }
    for part in ("broker", "network", "workload", "faults", "seed", "rules"):
        assert all(one[part] == documents[0][part] for one in documents)


@pytest.mark.parametrize(
    ("text", "given_in"),
    [
        ("rules: {preset: kip-280}\n", "preset"),
        ("rules: {strategy: timestamp}\n", "rules"),
        ("topic: {compaction.strategy: null}\n", "default"),
    ],
)
def test_who_says_by_what_a_topic_is_compacted(tmp_path: Path, text: str, given_in: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(f"format: replog-scenario/1\n{text}", encoding="utf-8")

    assert topic_strategy(path).given_in == given_in
    assert topic_strategy(path).strategy == rules_in(tmp_path, text).cleaner.strategy


@pytest.mark.parametrize("name", ["Header", "HEADER", "header"])
def test_the_case_of_a_strategy_does_not_matter(tmp_path: Path, name: str) -> None:
    """Public Interfaces, `compaction.strategy`; apache/kafka PR 7528."""
    text = f"topic: {{compaction.strategy: {name}, compaction.strategy.header: version}}\n"
    assert rules_in(tmp_path, text).cleaner.strategy == "header"
    with pytest.raises(BadInput, match=r"header needs compaction\.strategy\.header"):
        rules_in(tmp_path, f"topic: {{compaction.strategy: {name}}}\n")


def test_a_topic_setting_of_null_leaves_the_brokers(tmp_path: Path) -> None:
    """Public Interfaces: the topic's setting stands for the broker's, where there is one."""
    assert (
        rules_in(tmp_path, BROKER + "topic: {compaction.strategy: null}\n").cleaner.strategy
        == "header"
    )


@pytest.mark.parametrize(
    "text",
    [
        "topic: {compaction.strategy: header}\n",
        "broker: {log.cleaner.compaction.strategy: header}\n",
        'topic: {compaction.strategy: header, compaction.strategy.header: " "}\n',
        'topic: {compaction.strategy: header, compaction.strategy.header: ""}\n',
    ],
)
def test_the_header_strategy_needs_the_name_of_a_header(tmp_path: Path, text: str) -> None:
    """Public Interfaces, `compaction.strategy.header`; refused by the fork's LogConfig as well."""
    with pytest.raises(BadInput, match=r"x\.yaml:2: .*compaction\.strategy"):
        rules_in(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "rules: {strategy: header}\n",
        "rules: {strategy_header: lsn}\ntopic: {compaction.strategy: header}\n",
        "topic: {compaction.strategy: offset}\nbroker: {log.cleaner.compaction.strategy: header}",
        "topic: {compaction.strategy: header}\nbroker: {log.cleaner.compaction.strategy.header: x}",
    ],
)
def test_the_name_of_the_header_may_come_from_elsewhere_or_not_be_needed(
    tmp_path: Path, text: str
) -> None:
    """Public Interfaces, `compaction.strategy.header`: for the header strategy alone."""
    assert rules_in(tmp_path, text).cleaner.strategy in ("header", "offset")


# What is easily taken for a version.


def test_the_last_occurrence_counts_even_if_it_is_no_version() -> None:
    """Public Interfaces, `compaction.strategy.header`: no earlier one takes its place."""
    spoilt = with_headers(0, ("version", encode_version(9)), ("version", b"\0" * 7))

    assert left(spoilt, record(1, "k", version=-5)) == [1]
    assert left(record(0, "k", version=-5), spoilt._replace(offset=1)) == [0]


@pytest.mark.parametrize("name", ["Version", " version", "version ", "versions"])
def test_a_name_is_that_very_name(name: str) -> None:
    """Public Interfaces, `compaction.strategy.header`: a header key that matches the setting."""
    assert left(with_headers(0, (name, encode_version(9))), record(1, "k", version=1)) == [1]
    assert left(with_headers(0, (name, encode_version(9))), record(1, "k")) == [1]


def test_a_record_without_a_timestamp_loses_to_any_with_one() -> None:
    """Public Interfaces, compaction strategies, timestamp: the highest one is kept."""
    without, oldest = record(1, "k", timestamp_ms=-1), record(0, "k", timestamp_ms=0)

    assert left(oldest, without, strategy="timestamp") == [0]
    both = without._replace(offset=0), without
    assert left(*both, strategy="timestamp") == [1]


def test_a_delete_and_a_value_of_equal_version_go_by_offset() -> None:
    """Proposed Changes: an equal version falls back to the offset, for deletes as for values."""
    value, delete = record(0, "k", version=5), record(0, "k", None, version=5)

    assert left(value, delete._replace(offset=1)) == [1]
    assert left(delete, value._replace(offset=1)) == [1]
