"""Why is this tombstone, or this value, still here, or already gone?"""

from pathlib import Path
from typing import Any

import pytest

from sim.errors import BadInput
from sim.files.yaml_text import parse_yaml
from sim.simulate.logfile.explain import explain_key
from sim.simulate.logfile.file import log_file_from, log_file_in, read_log_document
from tests.logfile.writer import Writer

_FILE = Path(__file__).with_name("explained.yaml")
SENTENCES = parse_yaml(_FILE.read_text(encoding="utf-8"), str(_FILE)).data


@pytest.mark.parametrize(
    ("says", "file"), [(one["says"], f) for one in SENTENCES for f in one["of"]]
)
def test_what_became_of_a_record_is_told(says: str, file: dict[str, Any]) -> None:
    document = {name: part for name, part in file.items() if name not in ("key", "told")}
    found = explain_key(log_file_from({"format": "replog-log/1", **document}), file["key"]).records

    assert [one.sentence for one in found] == file["told"], says
    assert [one.fate for one in found] == [
        "gone" if " Gone: " in sentence else "here" for sentence in file["told"]
    ]


def test_an_unknown_key_is_told_which_keys_there_are() -> None:
    log = Writer()
    log.singles("k=1", "k", "x=1")
    log.roll()
    log.step("reload")
    log.data(*[f"k{number}=v" for number in range(30)])

    with pytest.raises(BadInput) as raised:
        explain_key(log_file_from(log.document()), "q")

    text = str(raised.value)
    assert text.startswith("--explain q: no record has this key; there are: k, x, k0, k1, ")
    assert text.endswith("k17 and 12 more")


def test_a_record_below_the_version_of_a_missing_key_says_so() -> None:
    path = Path(__file__).parents[2] / "scenarios/kip280/log_negative_version_lost.json"
    (explanation,) = explain_key(log_file_in(read_log_document(path)), "K").records

    assert "version below that of a missing key, and no record of its key" in explanation.sentence


TRANSACTIONS = Path(__file__).parents[2] / "scenarios" / "transactions"


def test_a_tombstone_that_was_not_in_the_map_took_nothing_along() -> None:
    file = log_file_in(read_log_document(TRANSACTIONS / "log_index_seek.json"))
    why = (
        "offset 6 counted as aborted, as step 2 did not meet the ABORT marker at 3 that ends an "
        "earlier transaction of producer 1: its map was read from behind it."
    )

    value, tombstone = explain_key(file, "K").records
    assert value.sentence.endswith(
        f"the tombstone at 6 that deleted it went in step 2 without it, so the value is back: {why}"
    )
    assert tombstone.sentence.endswith(f"; it took no older record along: {why}")


def test_committed_data_goes_that_counts_as_aborted() -> None:
    file = log_file_in(
        read_log_document(TRANSACTIONS / "log_evicted_abort_takes_committed_data.json")
    )

    (value,) = explain_key(file, "k").records
    assert value.sentence == (
        "offset 3 is a value of 'k'. Gone: step 3 removed it: offset 3 counted as aborted, as step "
        "3 did not meet the ABORT marker at 1 that ends an earlier transaction of producer 1: it "
        "is gone."
    )


def test_of_a_key_with_many_records_the_first_the_last_and_the_decisive_ones_are_told() -> None:
    log = Writer()
    for number in range(300):
        log.data(f"k={number}")
    log.roll()
    log.clean()
    for number in range(300, 600):
        log.data(f"k={number}")
    found = explain_key(log_file_from(log.document()), "k")

    assert [one.offset for one in found.records] == [0, 299, 599]
    assert found.left_out == 597
    assert found.records[0].sentence.endswith("step 1 removed it: superseded by 299.")


def test_no_more_than_twenty_records_are_told_however_many_passes_decided() -> None:
    log = Writer()
    for number in range(40):
        log.data(f"k={number}", "k=x")
        log.roll()
        log.clean()
    found = explain_key(log_file_from(log.document()), "k")

    assert (len(found.records), found.left_out) == (20, 60)
    assert (found.records[0].offset, found.records[-1].offset) == (0, 79)
