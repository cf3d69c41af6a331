"""Settings as `kafka-configs --describe` prints them, pasted into a timed scenario."""

import re
from pathlib import Path

from sim.files.yaml_text import parse_yaml
from sim.simulate.scenario.derived import setting_notes
from sim.simulate.scenario.file.load import scenario_in
from sim.simulate.scenario.model import Scenario

ALL_OF_A_TOPIC = """
cleanup.policy=compact
compression.gzip.level=-1
compression.lz4.level=9
compression.type=producer
compression.zstd.level=3
delete.retention.ms=100
file.delete.delay.ms=60000
flush.messages=9223372036854775807
flush.ms=9223372036854775807
follower.replication.throttled.replicas=
index.interval.bytes=4096
leader.replication.throttled.replicas=
local.retention.bytes=-2
local.retention.ms=-2
max.compaction.lag.ms=9223372036854775807
max.message.bytes=1048588
message.timestamp.after.max.ms=9223372036854775807
message.timestamp.before.max.ms=9223372036854775807
message.timestamp.type=CreateTime
min.cleanable.dirty.ratio=1.0E-2
min.compaction.lag.ms=0
min.insync.replicas=1
preallocate=false
remote.log.copy.disable=false
remote.log.delete.on.disable=false
remote.storage.enable=false
retention.bytes=-1
retention.ms=604800000
segment.bytes=1073741824
segment.index.bytes=10485760
segment.jitter.ms=0
segment.ms=100
unclean.leader.election.enable=false
"""
"""What 4.x says of a topic, without what it says of where each comes from."""


def pasted(lines: str) -> str:
    """The same as fields of YAML, each value as text."""
    return re.sub(r"(?m)^(\S+?)=(.*)$", r"  \1: '\2'", lines.strip())


def load(text: str) -> Scenario:
    """The scenario in the fields of a file."""
    document = parse_yaml(f"format: replog-scenario/1\n{text}", "t.yaml")
    return scenario_in(document, path=Path("t.yaml"))


def test_all_settings_of_a_topic_as_kafka_prints_them_are_read() -> None:
    scenario = load(f"topic:\n{pasted(ALL_OF_A_TOPIC)}\n")

    assert scenario.rules.topic.delete_retention_ms == 100
    assert scenario.topic.min_cleanable_dirty_ratio == 0.01
    assert scenario.topic.segment_ms == 100
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
