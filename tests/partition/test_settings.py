"""Settings as people have them become those of one topic; what is missing has Kafka's default."""

from pathlib import Path

import pytest

from sim.api.partitions import open_partition
from sim.errors import BadInput
from sim.simulate.partition.settings import DEFAULTS, GivenSettings, settings_of
from tests.commands import replog

UP_TO_2_4 = (
    "Configs for topic 'orders' are cleanup.policy=compact,min.cleanable.dirty.ratio=0.1,"
    "max.compaction.lag.ms=3600000\n"
)
OF_TOPICS = (
    "Topic: orders\tTopicId: 4QYHm\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: "
    "cleanup.policy=compact,delete,min.cleanable.dirty.ratio=0.1,max.compaction.lag.ms=3600000\n"
    "\tTopic: orders\tPartition: 0\tLeader: 0\tReplicas: 0\tIsr: 0\n"
)
OF_A_BROKER = """# cleaner
log.cleaner.min.cleanable.ratio=0.1
log.dirs=/one,\\
  /two\\=
log.cleaner.max.compaction.lag.ms : 3600\\000
"""
OTHERS = {
    "min.compaction.lag.ms": "0",
    "segment.bytes": "1073741824",
    "index.interval.bytes": "4096",
}
JSON = '{"min.cleanable.dirty.ratio": "0.1", "max.compaction.lag.ms": 3600000}'
ENTRIES = """[
  {"name": "min.cleanable.dirty.ratio", "value": "0.1", "source": "DYNAMIC_TOPIC_CONFIG"},
  {"name": "max.compaction.lag.ms", "value": "3600000", "isDefault": false},
  {"name": "delete.retention.ms", "value": null}]"""
OF_AN_OPERATOR = f'{{"kind": "KafkaTopic", "metadata": {{}}, "spec": {{"config": {JSON}}}}}'
OF_A_CLIENT = f'{{"type": "topic", "name": "orders", "configs": {ENTRIES}}}'
BY_TOPIC = f'{{"orders": {JSON}, "other": {{"min.cleanable.dirty.ratio": 0.9}}}}'


def given(folder: Path, text: str, topic: str = "orders") -> GivenSettings:
    path = folder / "settings"
    path.write_text(text)
    return settings_of(path, topic)


@pytest.mark.parametrize(
    "text",
    [UP_TO_2_4, OF_TOPICS, OF_A_BROKER, JSON, ENTRIES, OF_A_CLIENT, OF_AN_OPERATOR, BY_TOPIC],
)
def test_every_form_says_the_same(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    found = settings_of(path, "orders")

    assert float(found.topic["min.cleanable.dirty.ratio"]) == 0.1
    assert int(found.topic["max.compaction.lag.ms"]) == 3_600_000
    assert found.topic["delete.retention.ms"] == DEFAULTS["delete.retention.ms"]
    assert {"min.cleanable.dirty.ratio", "max.compaction.lag.ms"} <= found.given
    assert "delete.retention.ms=86400000" in found.sentence("kafka-4.0").partition("defaults")[2]


@pytest.mark.parametrize("release", ["2.8", "3.8", "4.3"])
def test_what_kafka_configs_prints_is_read(recorded: Path, release: str) -> None:
    """Of 2.8 and 4.3 with --all, and of 4.3 of all topics."""
    found = settings_of(recorded / "settings" / f"{release}.txt", "orders")

    assert {name: found.topic[name] for name in found.given} == {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.1",
        "max.compaction.lag.ms": "3600000",
        "delete.retention.ms": "600000",
        "segment.ms": "3600000",
        **({} if release == "3.8" else OTHERS),
    }
    assert found.unread > 0


def test_names_that_decide_nothing_are_counted(tmp_path: Path) -> None:
    found = given(tmp_path, "log.dirs=/a\nmin.cleanable.dirty.ration=0.1\n")

    assert not found.given
    assert "names given that decide nothing here: 2" in found.sentence("kafka-4.0")


def test_the_map_is_that_of_the_brokers_buffer(tmp_path: Path) -> None:
    text = "log.cleaner.dedupe.buffer.size=48000\nlog.cleaner.io.buffer.load.factor=0.5\n"

    assert given(tmp_path, f"{text}log.cleaner.threads=2\n").map_keys == 500
    # No map has more than 2 GiB (LogCleaner.CleanerThread).
    text = "log.cleaner.dedupe.buffer.size=10737418240\n"
    assert given(tmp_path, text).map_keys == (2**31 - 1) // 24 * 9 // 10


def test_a_list_may_have_spaces(tmp_path: Path) -> None:
    assert given(tmp_path, "cleanup.policy=compact, delete\n").topic["cleanup.policy"] == (
        "compact,delete"
    )


@pytest.mark.parametrize(
    "text",
    [
        "log.roll.hours=2\n",
        (
            "All configs for broker 1 are:\n"
            "  log.roll.ms=null sensitive=false\n  log.roll.hours=2 sensitive=false\n"
        ),
    ],
)
def test_log_roll_hours_are_those_of_segment_ms(partition: Path, text: str) -> None:
    path = partition.parent / "server.properties"
    path.write_text(text)

    assert open_partition(partition, settings=path).log_file().topic.roll_ms == 7_200_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("log.cleaner.threads\n", "settings:1: expected name=value"),
        (
            "log.cleaner.threads=two\n",
            "expected a number from 0 on, not 'two'",
        ),
        ("producer.id.expiration.ms=inf\n", "expected a number from 0 on, not 'inf'"),
        (
            "log.cleaner.enable=false\n",
            "a broker without a cleaner compacts nothing; allowed: true",
        ),
        ("[1]", "expected names with values, or a list of `name` and `value`"),
        ("{", "settings:1: is not JSON"),
        ('{"min.cleanable.dirty.ratio": {"a": 1}}', "expected a value, not dict"),
        ("Dynamic configs for topic others are:\n", "settings of others, none of topic orders"),
    ],
)
def test_what_is_no_setting_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadInput, match="settings") as refused:
        given(tmp_path, text)

    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"segment.ms": "-5"}', "settings: segment.ms: -5 is below the smallest allowed, 1"),
        ("min.cleanable.dirty.ratio=7\n", "min.cleanable.dirty.ratio: 7 is above the largest"),
        ("cleanup.policy=compacted\n", 'cleanup.policy: unknown value "compacted"'),
    ],
)
def test_a_value_that_kafka_refuses_is_refused(partition: Path, text: str, said: str) -> None:
    path = partition.parent / "settings"
    path.write_text(text)

    answer = replog("eligible", partition, "--settings", path)

    assert answer.status == 2
    assert said in answer.complaint
