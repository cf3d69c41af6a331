"""Smallest examples: where no story shows the same, within a budget; what near misses heal."""

from pathlib import Path

import pytest

from sim.diagnose.shrink.engine import Budget
from sim.diagnose.shrink.smallest import NO_STORY, Case, smallest_example
from sim.diagnose.what_if.heals import near_miss_of, violated_by, with_rule
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.file.load import load_scenario
from tests.shrink.cases import REUSED, story, timed


def test_what_no_story_says_stays_a_scenario(tmp_path: Path) -> None:
    example = smallest_example(timed("timed_unchanged_application"))
    path = tmp_path / "example.yaml"
    path.write_text(example.text)
    scenario = load_scenario(path)

    assert (example.kind, example.steps, example.made_of) == ("scenario", None, NO_STORY)
    assert example.events < 10
    assert run_scenario(scenario).differences == ()
    cut_off = smallest_example(timed("timed_b8_old_cleaner"), tries=20)
    assert cut_off.remark == "as a scenario: settings do not change in the midst of a story"


def test_a_budget_in_tries_gives_the_same_witness_every_time() -> None:
    first, second = (smallest_example(REUSED, "leader-completeness", tries=30) for _ in range(2))

    assert (first.complete, first.tries) == (False, 30)
    assert first == second


@pytest.mark.parametrize(
    ("name", "invariant", "here", "offered", "heals"),
    [
        # Shrinking makes the tombstone the log end: there, what keeps the log end keeps it.
        ("kip630_01", "tombstone-safety", "fix: leo_retention", "tombstone_removal: ", True),
        ("finding_03", "committed-replicated", "commit: majority", "commit: majority", False),
        ("kip280_07", "log-matching", "fix: leo_retention", "fix: leo_retention", True),
    ],
)
def test_a_near_miss_heals_what_was_shrunk_or_says_that_it_does_not(
    name: str, invariant: str, here: str, offered: str, heals: bool
) -> None:
    case = Case(story(name), invariant, command="replog shrink x")
    case.shrink(Budget())
    alone, near = near_miss_of(case.best.value, invariant), case.near_miss()

    assert alone is not None
    assert near is not None
    assert (alone.change, near.change[: len(offered)], near.heals_origin) == (here, offered, heals)
    healed = invariant not in violated_by(with_rule(case.value, near.rule, near.setting), invariant)
    assert healed is heals
    assert ("itself violates it" in case.near_miss_text(near)) is not heals


@pytest.mark.parametrize(
    ("name", "invariant", "change"),
    [
        # Judged although the format does not judge it unless a story asks for it.
        ("raft_21", "epoch-monotonic", "epoch_storage: disk"),
        ("snap_16", "snapshot-install-atomic", "snapshot_install: atomic"),
        ("kip101_04", "leader-completeness", None),
    ],
)
def test_the_first_rule_that_heals_with_all_steps_doing_something(
    name: str, invariant: str, change: str | None
) -> None:
    found = near_miss_of(story(name), invariant)

    assert (None if found is None else found.change) == change
