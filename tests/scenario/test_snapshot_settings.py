"""Settings of snapshots in scenario files, under Kafka's names."""

from pathlib import Path

import pytest

from sim.simulate.scenario.file.configs import NEVER_REACHED
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.model import SnapshotSettings
from tests.scenario.texts import load

MIB, DAY_MS = 1024 * 1024, 24 * 60 * 60 * 1000


SNAPSHOT = "topic: {cleanup.policy: snapshot}"
EVERY_NAME = f"""{SNAPSHOT}
broker:
  controller.quorum.fetch.snapshot.max.bytes: 1
  metadata.log.max.record.bytes.between.snapshots: 2
  metadata.log.max.snapshot.interval.ms: 3
  metadata.max.retention.bytes: 4
  metadata.max.retention.ms: 5
"""
NO_BOUNDS = f"""{SNAPSHOT}
broker:
  metadata.log.max.snapshot.interval.ms: 0
  metadata.max.retention.bytes: -1
  metadata.max.retention.ms: -1
"""


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("", SnapshotSettings()),
        (SNAPSHOT, SnapshotSettings(8 * MIB, 20 * MIB, 3_600_000, 100 * MIB, 7 * DAY_MS)),
        (EVERY_NAME, SnapshotSettings(1, 2, 3, 4, 5)),
        (NO_BOUNDS, SnapshotSettings(8 * MIB, 20 * MIB, None, NEVER_REACHED, NEVER_REACHED)),
    ],
    ids=["nothing is taken", "kafkas defaults", "kafkas names", "0 is never, -1 no bound"],
)
def test_snapshots_are_taken_and_kept_as_kafkas_settings_say(
    tmp_path: Path, text: str, settings: SnapshotSettings
) -> None:
    assert load(tmp_path, text).snapshots == settings


def test_the_lag_of_the_start_offset_has_kafkas_name(tmp_path: Path) -> None:
    found = load(tmp_path, "broker: {metadata.start.offset.lag.time.max.ms: 6}")

    assert found.rules.snapshots.start_offset_lag_ms == 6


def test_minus_1_is_no_bound_for_the_topics_retention_either(tmp_path: Path) -> None:
    text = "{cleanup.policy: 'compact,delete', retention.ms: -1, retention.bytes: -1}"
    found = load(tmp_path, f"topic: {text}").topic

    assert found.deletes
    assert (found.retention_ms, found.retention_bytes) == (None, None)


def test_random_snapshots_differ_only_where_a_mix_has_any() -> None:
    quiet = Mix.model_validate("reference")
    kraft = Mix.model_validate("kraft")
    settings = {generate(seed, kraft).snapshots for seed in range(40)}

    assert {generate(seed, quiet).snapshots for seed in range(40)} == {SnapshotSettings()}
    assert len(settings) == 40
    for name in ("record_bytes", "interval_ms", "retention_bytes", "retention_ms"):
        assert {getattr(one, name) is None for one in settings} == {True, False}
    loading = [
        {generate(seed, mix).timers.load_us_per_record > 0 for seed in range(40)}
        for mix in (quiet, kraft)
    ]
    assert loading == [{False}, {True, False}]


@pytest.mark.parametrize(
    ("policy", "cleanup"),
    [
        ("delete", "compact"),
        ("compact,delete", "compact"),
        ("snapshot", "snapshot"),
        ("compact,snapshot", "compact_and_snapshot"),
        ("snapshot,compact", "compact_and_snapshot"),
    ],
)
def test_what_the_topic_says_of_cleanup_goes_before_the_preset(
    tmp_path: Path, policy: str, cleanup: str
) -> None:
    text = f"topic: {{cleanup.policy: '{policy}'}}\nrules: {{preset: kraft}}"

    assert load(tmp_path, text).rules.cleaner.cleanup == cleanup
    assert load(tmp_path, "rules: {preset: kraft}").rules.cleaner.cleanup == "snapshot"
