"""The fine print of log files, sentence by sentence (`fine_print_clean.yaml`, `_eligible.yaml`)."""

from pathlib import Path
from typing import Any

import pytest

from sim.files.document import Document
from sim.files.yaml_text import parse_yaml
from sim.simulate.logfile.explain import explain_key
from sim.simulate.logfile.file import log_file_from
from sim.simulate.logfile.rules import LogRules, rules_at
from tests.logfile.many_logs import differences
from tests.logfile.writer import batch

FOLDER = Path(__file__).parent
SENTENCES = [
    sentence
    for name in ("fine_print_clean.yaml", "fine_print_eligible.yaml")
    for sentence in parse_yaml((FOLDER / name).read_text(encoding="utf-8"), name).data
]


@pytest.mark.parametrize(
    ("says", "file"), [(one["says"], f) for one in SENTENCES for f in one["of"]]
)
def test_a_log_file_is_answered_as_the_page_says(says: str, file: dict[str, Any]) -> None:
    assert differences(Document(says, {"format": "replog-log/1", **file})) == []


def rules_of(values: object) -> LogRules:
    """The rules that a log file with this `rules` object has."""
    return rules_at(values, Document("", values).top)


def test_a_rule_beside_the_preset_overrides_it_and_without_a_preset_it_is_kafka_4_0() -> None:
    rules = rules_of({"preset": "kip-280", "fix": "leo_retention", "map_range": "dirty"})

    assert (rules.rules.cleaner.fix, rules.rules.cleaner.map_range) == ("leo_retention", "dirty")
    assert rules_of(None).rules == rules_of({"preset": "kafka-4.0"}).rules


def test_what_was_cut_off_is_not_explained_as_still_here() -> None:
    batches = [batch(0, "a=1"), batch(1, "a=1")]
    steps = [{"op": "truncate", "offset": 1}]
    document = {"format": "replog-log/1", "segments": [batches], "steps": steps}

    assert [told.offset for told in explain_key(log_file_from(document), "a").records] == [0]
