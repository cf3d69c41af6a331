"""The near miss of a story: one rule heals it, and its steps still do what they did."""

from pathlib import Path

import pytest

from sim.shrink.near_miss import near_miss_of
from sim.story import load_story

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.mark.parametrize(
    ("name", "law", "change"),
    [
        ("kip280/kip280_07_log_end_from_last_record", "log-matching", ("fix", "leo_retention")),
        # Judged although the format does not judge it unless a story asks for it.
        ("raft/raft_21_epoch_kept_in_memory", "epoch-monotonic", ("epoch_storage", "disk")),
        # `cleanup: compact` comes before it and heals as well, but takes no snapshots at all.
        (
            "snapshots/snap_16_log_emptied_by_the_first_chunk",
            "snapshot-install-atomic",
            ("snapshot_install", "atomic"),
        ),
    ],
)
def test_the_first_rule_that_heals_it(name: str, law: str, change: tuple[str, str]) -> None:
    found = near_miss_of(load_story(SCENARIOS / f"{name}.yaml"), law)

    assert found is not None
    assert (found.rule, found.value) == change


def test_where_no_single_rule_heals_there_is_none() -> None:
    story = load_story(SCENARIOS / "truncation/kip101_04_epoch_truncation_joins_the_lineages.yaml")

    assert near_miss_of(story, "leader-completeness") is None
