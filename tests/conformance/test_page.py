"""The report says what was compared with which Kafka, and what is wrong."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from tests.conformance.broker_compare import BrokerResult, PassRow
from tests.conformance.features import features_expected
from tests.conformance.noticing import Noticed
from tests.conformance.page import ConformanceResult, summary, write_page
from tests.conformance.planted import PLANTED
from tests.conformance.random_runs import Compared

ALL = Counter(dict.fromkeys(features_expected("kafka-4.0"), 3))
RANDOM = Compared(280, "kafka-4.0", logs=2000, steps=5000, passes=3797, records=23767, features=ALL)
ROW = PassRow(1, 85, (44, 17), (86, 19), (19, 2), (9, 8), 1, 2, "read off a horizon")
BROKER = BrokerResult(
    rows=(ROW,),
    reads={"read_uncommitted": (51, 240), "read_committed": (28, 221)},
    features=frozenset({"marker removed"}),
    difference=None,
    document={},
)
AGREED = ConformanceResult("4.3.1", RANDOM, BROKER, "make conformance")


def page(outcome: ConformanceResult, folder: Path) -> str:
    path = folder / "reports" / "conformance.md"
    write_page(outcome, path)
    return path.read_text()


def test_the_page_names_the_release_the_counts_and_the_command(tmp_path: Path) -> None:
    text = page(AGREED, tmp_path)

    assert "Apache Kafka **4.3.1**" in text
    assert "`make conformance`" in text
    assert "**All agree.**" in text
    assert "| different logs | 2,000 |" in text
    assert "| cleaning passes | 3,797 |" in text
    assert "| marker removed | 3 |" in text


def test_the_page_tells_of_the_broker_pass_by_pass(tmp_path: Path) -> None:
    text = page(AGREED, tmp_path)

    assert "| 1 | 85 | 44 → 17 | 86 → 19 | 19 → 2 | 9 → 8 | 1 | 2 | read off a horizon |" in text
    assert "| read_committed | 28 | 221 | all agree |" in text


def test_without_a_broker_the_page_is_silent_about_it(tmp_path: Path) -> None:
    text = page(replace(AGREED, broker=None), tmp_path)

    assert "broker" not in text


def test_a_difference_is_a_complaint(tmp_path: Path) -> None:
    found = "steps[0].batches[0].segment: Replog says 1, Kafka says 0"
    differs = replace(AGREED, random=replace(RANDOM, difference=found))

    assert differs.complaints == [f"random logs: {found}"]
    assert f"**They differ.** random logs: {found}." in page(differs, tmp_path)
    assert summary(differs)[0].endswith("they differ")


def test_a_feature_that_never_occurred_is_a_complaint() -> None:
    features = Counter(ALL)
    del features["marker removed"]

    lacking = replace(AGREED, random=replace(RANDOM, features=features))

    assert lacking.complaints == ["random logs: in none of them: marker removed; raise --count"]


def test_a_difference_on_the_broker_is_a_complaint() -> None:
    differs = replace(AGREED, broker=replace(BROKER, difference="pass 1: batches[0]: ..."))

    assert differs.complaints == ["broker: pass 1: batches[0]: ..."]


def test_the_summary_fits_on_two_lines() -> None:
    random, broker = summary(AGREED)

    assert random == (
        "Kafka 4.3.1, preset kafka-4.0: 2,000 different random logs with 3,797 cleaning passes and"
        " 23,767 records compared (seed 280): all agree"
    )
    assert broker.startswith("real broker, 1 passes of its cleaner; read_uncommitted consumer: 51")


def test_the_page_says_which_log_noticed_a_planted_error(tmp_path: Path) -> None:
    seen = Noticed(PLANTED[0], 74, "steps[2].batches[5].record_offsets: Replog says [1]")
    text = page(replace(AGREED, noticed=[seen]), tmp_path)

    row = f"| {PLANTED[0].what} | `{PLANTED[0].module}` | 74 | steps[2].batches[5].record_offsets |"
    assert row in text
    assert "**All agree.**" in text


def test_a_planted_error_that_nothing_notices_is_a_complaint(tmp_path: Path) -> None:
    outcome = replace(AGREED, noticed=[Noticed(PLANTED[0], None, "")])

    assert "**They differ.**" in page(outcome, tmp_path)
    assert f"no log notices that {PLANTED[0].what}" in outcome.complaints[0]
