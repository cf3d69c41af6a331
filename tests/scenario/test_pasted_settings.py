"""Settings as `kafka-configs --describe` prints them, pasted into a timed scenario."""

import re
from pathlib import Path
from zipfile import ZipFile

from sim.files.yaml_text import parse_yaml
from sim.simulate.scenario.derived import setting_notes
from sim.simulate.scenario.file.load import scenario_in
from sim.simulate.scenario.model import Scenario
from tests.partition.conftest import ZIP

PRINTED = ZipFile(ZIP).read("settings/4.3.txt").decode()
"""What `kafka-configs --describe --all` of 4.3 said of the topics of a broker of 3.8."""
OF_A_TOPIC = PRINTED.partition("topic orders are:\n")[2].partition("All configs")[0]


def pasted(printed: str) -> str:
    """The same as fields of YAML, each value as text."""
    return re.sub(r"(?m)^  (\S+?)=(.*?) sensitive=.*$", r"  \1: '\2'", printed)


def load(text: str) -> Scenario:
    """The scenario in the fields of a file."""
    document = parse_yaml(f"format: replog-scenario/1\n{text}", "t.yaml")
    return scenario_in(document, path=Path("t.yaml"))


def test_all_settings_of_a_topic_as_kafka_prints_them_are_read() -> None:
    printed = OF_A_TOPIC.replace("=0.1 ", "=1.0E-2 ").replace("retention.ms=-1", "retention.ms=9")
    newer = "  remote.log.copy.disable: 'false'\n  remote.log.delete.on.disable: 'false'\n"
    scenario = load(f"topic:\n{pasted(printed)}{newer}")

    assert scenario.rules.topic.delete_retention_ms == 600_000
    assert scenario.topic.min_cleanable_dirty_ratio == 0.01
    assert scenario.topic.segment_ms == 3_600_000
    assert scenario.topic.retention_bytes is None
    idle, *because = setting_notes(scenario)
    assert "topic.preallocate" in idle
    assert "delete.retention.ms" not in idle
    assert because == [
        "retention.ms changes nothing: cleanup.policy is compact, which deletes none",
        "flush.messages, flush.ms change nothing: flush is acknowledged, not interval",
    ]


def test_what_only_another_setting_gives_a_meaning_is_named_with_it() -> None:
    text = "topic: {cleanup.policy: delete, min.cleanable.dirty.ratio: 0.1}\n"

    because = "cleanup.policy is delete, which compacts nothing"
    assert setting_notes(load(text)) == [f"min.cleanable.dirty.ratio changes nothing: {because}"]


def test_a_brokers_default_is_a_topics_setting() -> None:
    scenario = load("broker: {log.segment.bytes: '777', log.roll.ms: 5, min.insync.replicas: 2}\n")

    assert (scenario.topic.segment_bytes, scenario.topic.segment_ms) == (777, 5)
    assert scenario.rules.topic.min_isr == 2
