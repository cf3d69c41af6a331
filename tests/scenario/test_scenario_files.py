"""Scenario files: what they may say, what it becomes, and how mistakes are told."""

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.files.yaml_text import parse_yaml
from sim.protocol.rules import rules_from
from sim.simulate.scenario.derived import setting_notes
from sim.simulate.scenario.file.configs import BrokerSettings, TopicSettings
from sim.simulate.scenario.file.load import load_scenario
from sim.simulate.scenario.model import (
    Consumer,
    Expect,
    ReplicaSpec,
    Scenario,
    TraceSource,
)
from tests.scenario import texts

Load = Callable[..., Scenario]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Loads a scenario from text, as `x.yaml` in the current folder."""
    monkeypatch.chdir(tmp_path)
    return partial(texts.load, Path())


complaints = partial(texts.complaints, Path())


def test_a_file_that_says_nothing_gives_the_defaults(load: Load) -> None:
    assert load("") == Scenario("x")


def test_a_preset_is_laid_under_named_rules(load: Load) -> None:
    scenario = load("rules: {preset: kafka-4.0, strategy: header, delete_retention_ms: 5}\n")

    expected = {"preset": "kafka-4.0", "strategy": "header", "delete_retention_ms": 5}
    assert scenario.rules == rules_from(expected)


def test_the_topic_overrides_the_broker_and_the_broker_the_preset(load: Load) -> None:
    scenario = load(
        """
rules: {preset: kip-280}
broker:
  log.cleaner.compaction.strategy: timestamp
  log.cleaner.delete.retention.ms: 7
  log.cleaner.min.cleanable.ratio: 0.9
  log.cleaner.max.compaction.lag.ms: 80
  log.cleaner.backoff.ms: 40
  log.index.interval.bytes: 70
topic: {delete.retention.ms: 8, max.compaction.lag.ms: null}
"""
    )

    assert scenario.rules.cleaner.strategy == "timestamp"
    assert scenario.rules.topic.delete_retention_ms == 8
    assert scenario.rules.topic.index_interval_bytes == 70
    assert scenario.topic.min_cleanable_dirty_ratio == 0.9
    assert scenario.topic.max_compaction_lag_ms is None
    assert [replica.cleaner_backoff_ms for replica in scenario.replicas] == [40, 40, 40]


def test_null_for_what_a_topic_always_has_says_nothing(load: Load) -> None:
    topic = load(
        """
topic:
  min.cleanable.dirty.ratio: null
  min.compaction.lag.ms: null
  segment.bytes: null
  segment.ms: null
broker: {log.cleaner.min.cleanable.ratio: 0.7}
"""
    ).topic

    assert topic.min_cleanable_dirty_ratio == 0.7
    assert (topic.min_compaction_lag_ms, topic.segment_bytes) == (0, 2048)
    assert topic.segment_ms is None


def test_the_same_setting_twice_may_have_the_same_value(load: Load) -> None:
    same = "rules: {strategy: header}\ntopic: {compaction.strategy: header}\n"

    assert load(same).rules.cleaner.strategy == "header"


def test_replicas_are_a_number_or_names_or_settings(load: Load) -> None:
    assert [replica.name for replica in load("replicas: 2").replicas] == ["r1", "r2"]
    assert load(
        "replicas: [a, {name: b, clock_skew_ms: -5}, {name: c, cleaner_backoff_ms: null}]\n"
        "broker: {log.cleaner.backoff.ms: 70}\n"
    ).replicas == (ReplicaSpec("a", 0, 70), ReplicaSpec("b", -5, 70), ReplicaSpec("c", 0, None))


def test_a_replica_may_have_software_of_its_own(load: Load) -> None:
    scenario = load("replicas: [a, {name: b, tombstone_mark: null_value}]")

    assert [replica.tombstone_mark for replica in scenario.replicas] == [None, "null_value"]


def test_consumers_are_a_number_or_names_or_settings(load: Load) -> None:
    assert load("consumers: 0").consumers == ()
    assert load("consumers: [a, {name: b, pauses: [[3, 9]]}]").consumers == (
        Consumer("a"),
        Consumer("b", pauses=((3, 9),)),
    )


def test_a_trace_is_found_beside_its_scenario(tmp_path: Path, load: Load) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "changes.parquet").write_text("key,value,timestamp_ms\n")
    (tmp_path / "sub" / "t.yaml").write_text(
        "format: replog-scenario/1\nworkload: {trace: changes.parquet, limit: 5}\n"
    )

    workload = load_scenario(Path("sub/t.yaml")).workload

    assert workload.trace == TraceSource("sub/changes.parquet", limit=5)
    assert complaints("workload: {trace: nowhere.parquet}") == [
        "2: workload.trace: nowhere.parquet: cannot be read: No such file or directory"
    ]


NEEDED = {
    "strategy_names": "topic: {compaction.strategy: Version}\n",
    "compaction.strategy.header": "rules: {strategy: header}\n",
    "log.cleaner.compaction.strategy.header": "rules: {strategy: header}\n",
    "inter.broker.protocol.version": "replicas: [{name: r1, software: 0.10.2,"
    " log.message.format.version: 0.10.1}]\n",
    "log.message.format.version": "replicas: [{name: r1, software: 0.10.2}]\n",
}
"""What a file must say beside a setting, for that to be taken."""

NAMES = [
    (section, field.alias or name)
    for section, settings in (("topic", TopicSettings), ("broker", BrokerSettings))
    for name, field in settings.model_fields.items()
]


def test_a_setting_that_a_file_gives_reaches_the_scenario(load: Load) -> None:
    """A field of which nobody makes anything is taken, changes nothing, and is named in a note."""
    usual = {text: load(text) for text in {"", *NEEDED.values()} - {NEEDED["strategy_names"]}}

    def reaches(section: str, name: str, value: str) -> bool:
        beside = NEEDED.get(name, "")
        with suppress(BadInput):
            scenario = load(f"{beside}{section}: {{{name}: {value}}}\n")
            noted = f"{section}.{name} changes nothing here" in setting_notes(scenario)
            return noted != (scenario != usual.get(beside))
        return False

    values = ("7", "0.7", "true", "timestamp", "delete", "0.10.1", "header_keys")
    values += ("CreateTime", "gzip", "x")
    assert [name for name in NAMES if not any(reaches(*name, value) for value in values)] == []


def test_a_random_workload_comes_from_the_seed(load: Load) -> None:
    text = "seed: 3\nworkload: {random: {sends: 40, keys: 2, idle: [[1000, 3000]]}}\n"
    workload = load(text).workload

    assert len(workload.sends) == 40
    assert {send.key for send in workload.sends} == {"k1", "k2"}
    assert not [send for send in workload.sends if 1000 <= send.at_ms < 3000]
    assert load(text).workload == workload
    assert load(text, seed=4).workload != workload
    assert load(text, seed=4).seed == 4


def test_expectations_are_compared_with_what_is_known(load: Load) -> None:
    one, other, reached = "no-offset-reuse", "log-matching", "record-removed"
    text = f"expect: {{violated: [{one}], checked: [{one}, {other}], reached: [{reached}]}}\n"

    assert load(text).expect == Expect((one,), (one, other), (reached,))
    told = complaints(f"expect: {{violated: [c], checked: [{one}], reached: [s]}}")
    assert [line.partition("; allowed: ")[0] for line in told] == [
        '2: expect.violated[0]: unknown name "c"',
        '2: expect.reached[0]: unknown name "s"',
        "2: expect.violated[0]: c is not among `checked`",
    ]


NINE_MISTAKES = """\
titel: x
seed: -1
rules: {preset: kafka-4, strateg: header}
topic: {delete.retention.mss: 500}
workload: [{at: 100, kye: A, value: a}]
faults: [{at: 400, crash: folower, for_ms: 300}]
consumers: [{name: c, replica: leadr}]
expect: {violated: [no-offset-reus], reached: [record-removd]}
"""


def test_a_file_is_told_all_its_mistakes_at_once_and_what_each_was_meant_to_be(load: Load) -> None:
    told = complaints(NINE_MISTAKES)

    assert [re.sub("; (allowed:|there are) .*", "", line) for line in told] == [
        "2: titel: unknown field (did you mean 'title'?)",
        "3: seed: -1 is below the smallest allowed, 0",
        "4: rules.preset: unknown preset \"kafka-4\" (did you mean 'kafka-4.1'?)",
        "4: rules.strateg: unknown rule (did you mean 'strategy'?)",
        "5: topic.delete.retention.mss: unknown field (did you mean 'delete.retention.ms'?)",
        "6: workload[0].key: missing",
        "6: workload[0].kye: unknown field (did you mean 'key'?)",
        "7: faults[0].crash: there is no replica 'folower' (did you mean 'follower'?)",
        "8: consumers[0].replica: there is no replica 'leadr'",
        "9: expect.violated[0]: unknown name \"no-offset-reus\" (did you mean 'no-offset-reuse'?)",
        "9: expect.reached[0]: unknown name \"record-removd\" (did you mean 'record-removed'?)",
    ]


def test_what_only_looks_wrong_beside_a_field_that_cannot_be_read_is_not_told(load: Load) -> None:
    told = complaints(
        "replicas: [r1, {nam: r9}]\nduration_ms: long\n"
        "faults: [{at: 12000, crash: r9, for_ms: 1}]\nrules: {min_isr: 5}\n"
    )

    assert [line.split(": ")[1] for line in told] == [
        "replicas[1].name",
        "replicas[1].nam",
        "duration_ms",
    ]


_FILE = Path(__file__).with_name("refusals.yaml")
SAID = parse_yaml(_FILE.read_text(encoding="utf-8"), str(_FILE)).data


@pytest.mark.parametrize(("text", "complaint"), SAID)
def test_a_mistake_is_told_with_its_place(load: Load, text: str, complaint: str) -> None:
    told = [line.split(": ", 1)[1] for line in complaints(text)]

    assert any(line.startswith(complaint) for line in told)
