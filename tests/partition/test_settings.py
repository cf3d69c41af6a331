"""Settings as people have them become those of one topic; what is missing has Kafka's default."""

from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.simulate.partition.settings import DEFAULTS, GivenSettings, settings_of

SINCE_2_5 = """Dynamic configs for topic orders are:
  cleanup.policy=compact sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact, DEFAULT_CONFIG:log.cleanup.policy=delete}
  min.cleanable.dirty.ratio=0.1 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:min.cleanable.dirty.ratio=0.1}
  max.compaction.lag.ms=3600000 sensitive=false synonyms={}
"""  # noqa: E501 - as it is printed
UP_TO_2_4 = (
    "Configs for topic 'orders' are cleanup.policy=compact,min.cleanable.dirty.ratio=0.1,"
    "max.compaction.lag.ms=3600000\n"
)
ALL_OF_4 = """All configs for topic orders are:
  cleanup.policy=compact sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact}
  max.compaction.lag.ms=3600000 sensitive=false synonyms={}
  min.cleanable.dirty.ratio=0.1 sensitive=false synonyms={}
"""
OF_A_BROKER = """# cleaner
log.cleaner.min.cleanable.ratio=0.1
log.cleaner.max.compaction.lag.ms = 3600000
"""
JSON = '{"min.cleanable.dirty.ratio": "0.1", "max.compaction.lag.ms": 3600000}'
BY_TOPIC = f'{{"orders": {JSON}, "other": {{"min.cleanable.dirty.ratio": 0.9}}}}'


def given(folder: Path, text: str, topic: str = "orders") -> GivenSettings:
    path = folder / "settings"
    path.write_text(text)
    return settings_of(path, topic)


@pytest.mark.parametrize("text", [SINCE_2_5, UP_TO_2_4, ALL_OF_4, OF_A_BROKER, JSON, BY_TOPIC])
def test_every_form_says_the_same(tmp_path: Path, text: str) -> None:
    found = given(tmp_path, text)

    assert float(found.topic["min.cleanable.dirty.ratio"]) == 0.1
    assert int(found.topic["max.compaction.lag.ms"]) == 3_600_000
    assert found.topic["delete.retention.ms"] == DEFAULTS["delete.retention.ms"]
    assert {"min.cleanable.dirty.ratio", "max.compaction.lag.ms"} <= found.given
    assert "delete.retention.ms=86400000" in found.sentence("kafka-4.0").partition("defaults")[2]


def test_the_map_is_that_of_the_brokers_buffer(tmp_path: Path) -> None:
    text = "log.cleaner.dedupe.buffer.size=48000\nlog.cleaner.io.buffer.load.factor=0.5\n"

    assert given(tmp_path, f"{text}log.cleaner.threads=2\n").map_keys == 500


def test_log_roll_hours_are_those_of_segment_ms(tmp_path: Path) -> None:
    assert given(tmp_path, "log.roll.hours=2\n").topic["segment.ms"] == 7_200_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("log.cleaner.threads\n", "settings:1: expected name=value"),
        ("log.cleaner.threads=two\n", "log.cleaner.threads: expected a number, not 'two'"),
        ("{", "no JSON"),
        ('{"min.cleanable.dirty.ratio": [1]}', "expected a value, not list"),
        ("Dynamic configs for topic others are:\n", "settings of others, none of topic orders"),
    ],
)
def test_what_is_no_setting_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadInput, match="settings") as refused:
        given(tmp_path, text)

    assert said in str(refused.value)
