"""Witnesses where no story shows the same, and within a budget; near misses heal what they say."""

from pathlib import Path

import pytest

from sim.scenario.file.load import load_scenario
from sim.shrink.engine import Budget
from sim.shrink.near_miss import near_miss_of
from sim.shrink.witness import NO_STORY, Case, witness_of
from sim.story import load_story
from sim.timed_run import differences, run_scenario
from sim.what_if.changes import violated_by, with_rule
from tests.shrink.test_from_run import REUSED

SCENARIOS = Path(__file__).parents[2] / "scenarios"
OLD_CLIENT = load_scenario(SCENARIOS / "kip87/timed_unchanged_application.yaml")
OLD_CLEANER = load_scenario(SCENARIOS / "kip87/timed_b8_old_cleaner.yaml")


def test_what_no_story_says_stays_a_scenario(tmp_path: Path) -> None:
    witness = witness_of(OLD_CLIENT)
    path = tmp_path / "witness.yaml"
    path.write_text(witness.text)
    scenario = load_scenario(path)

    assert (witness.kind, witness.steps, witness.made_of) == ("scenario", None, NO_STORY)
    assert witness.events < 10
    assert differences(scenario, run_scenario(scenario)) == []
    cut_off = witness_of(OLD_CLEANER, tries=20)
    assert cut_off.remark == "as a scenario: settings do not change in the midst of a story"


def test_a_budget_in_tries_gives_the_same_witness_every_time() -> None:
    first, second = (witness_of(REUSED, "leader-completeness", tries=30) for _ in range(2))

    assert not first.complete
    assert first.tries == 30
    assert first == second


@pytest.mark.parametrize(
    ("name", "invariant", "here", "everywhere"),
    [
        # Shrinking makes the tombstone the log end: there, what keeps the log end keeps it.
        (
            "kip630/kip630_01_tombstone_removed_too_early",
            "tombstone-safety",
            "fix: leo_retention",
            ("tombstone_removal: last_modified", True),
        ),
        (
            "findings/finding_01_leo_retention_truncated_tail",
            "follower-position-sound",
            "commit: majority",
            ("commit: majority", False),
        ),
        (
            "kip280/kip280_07_log_end_from_last_record",
            "log-matching",
            "fix: leo_retention",
            ("fix: leo_retention", True),
        ),
    ],
)
def test_a_near_miss_heals_what_was_shrunk_or_says_that_it_does_not(
    name: str, invariant: str, here: str, everywhere: tuple[str, bool]
) -> None:
    case = Case(load_story(SCENARIOS / f"{name}.yaml"), invariant, command="replog shrink x")
    case.shrink(Budget())
    alone, near = near_miss_of(case.best.value, invariant), case.near_miss()

    assert alone is not None
    assert near is not None
    assert (alone.change, near.change, near.heals_origin) == (here, *everywhere)
    same = with_rule(case.value, near.rule, near.setting)
    assert (invariant in violated_by(same, invariant)) is not near.heals_origin
    assert ("itself violates it" in case.near_miss_text(near)) is not near.heals_origin


@pytest.mark.parametrize(
    ("name", "invariant", "change"),
    [
        # Judged although the format does not judge it unless a story asks for it.
        ("raft/raft_21_epoch_kept_in_memory", "epoch-monotonic", "epoch_storage: disk"),
        # `cleanup: compact` comes before it and heals as well, but takes no snapshots at all.
        (
            "snapshots/snap_16_log_emptied_by_the_first_chunk",
            "snapshot-install-atomic",
            "snapshot_install: atomic",
        ),
        ("truncation/kip101_04_epoch_truncation_joins_the_lineages", "leader-completeness", None),
    ],
)
def test_the_first_rule_that_heals_with_all_steps_doing_something(
    name: str, invariant: str, change: str | None
) -> None:
    found = near_miss_of(load_story(SCENARIOS / f"{name}.yaml"), invariant)

    assert (None if found is None else found.change) == change
