"""Smallest examples: where no story shows the same, within a budget; what near misses heal."""

from pathlib import Path

import pytest

from sim.diagnose.explain.past import Past
from sim.diagnose.explain.questions import signature_of
from sim.diagnose.shrink.engine import ShrinkBudget
from sim.diagnose.shrink.from_run import story_from_run
from sim.diagnose.shrink.smallest import NO_STORY, ShrinkCase
from sim.diagnose.shrink.stories import key_of
from sim.diagnose.shrink.target import illegal_steps, target_of
from sim.diagnose.shrink.writing import file_of, story_text
from sim.diagnose.what_if import near_miss_of, violated_by, with_rule
from sim.files.yaml_text import parse_yaml
from sim.simulate.run.stories import run_story
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.file.load import load_scenario
from sim.simulate.story import Story
from sim.simulate.story.format import story_from
from tests.commands import SCENARIOS
from tests.shrink.cases import AT_ONCE, LOST_TAIL, REMOVED, REUSED, story, timed


def test_what_no_story_says_stays_a_scenario(tmp_path: Path) -> None:
    example = ShrinkCase(timed("timed_unchanged_application")).shrink(ShrinkBudget())
    path = tmp_path / "example.yaml"
    path.write_text(example.text)
    scenario = load_scenario(path)

    assert (example.kind, example.steps, example.made_of) == ("scenario", None, NO_STORY)
    assert example.events < 10
    assert run_scenario(scenario).differences == ()
    cut_off = ShrinkCase(timed("timed_b8_old_cleaner")).shrink(ShrinkBudget(tries=20))
    assert cut_off.remark == "as a scenario: settings do not change during a story"


def test_a_shrunk_scenario_finds_its_file_of_changes_from_its_own_folder(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    source = timed("timed_delete_policy_loses_state")
    rows = "".join(f"{one.key},{one.value},{one.at_ms}\n" for one in source.workload.sends)
    (tmp_path / "c.csv").write_text(f"key,value,timestamp_ms\n{rows}")
    path = next(SCENARIOS.rglob("timed_delete_policy_loses_state.yaml"))
    head, _, rest = path.read_text().partition("workload:\n")
    _, _, rest = rest.partition("consumers:")
    (tmp_path / "s.yaml").write_text(
        f"{head}workload: {{trace: c.csv, batch_records: 1, interval_ms: 900}}\nconsumers:{rest}"
    )
    case = ShrinkCase(load_scenario(tmp_path / "s.yaml"), "state-kept", folder=made)
    (made / "t.yaml").write_text(case.shrink(ShrinkBudget(tries=5)).text)

    assert run_scenario(load_scenario(made / "t.yaml")).violated == ["state-kept"]


def test_a_budget_in_tries_gives_the_same_witness_every_time() -> None:
    cases = (ShrinkCase(REUSED, "leader-completeness") for _ in range(2))
    first, second = (case.shrink(ShrinkBudget(tries=30)) for case in cases)

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
    case = ShrinkCase(story(name), invariant, command="replog shrink x")
    case.shrink(ShrinkBudget())
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


# From runs to stories: the same is violated for the same cause, in a few steps, lawfully.

CASES = {
    "an offset is reused": (REUSED, "no-offset-reuse", 8),
    "a leader lacks a record": (REUSED, "leader-completeness", 7),
    "a tombstone goes too early": (REMOVED, "tombstone-safety", 8),
    "a deleted key is back": (AT_ONCE, "no-resurrection", 8),
}
"""A run, what it violates, and in how many steps a story does so at most."""


@pytest.mark.parametrize("name", CASES)
def test_a_random_run_becomes_a_story_of_a_few_lawful_steps(name: str) -> None:
    scenario, invariant, steps = CASES[name]
    _, in_run, _ = target_of(scenario, invariant)
    example = ShrinkCase(scenario, invariant).shrink(ShrinkBudget())
    story = story_from(parse_yaml(example.text, "example").data, where="example")
    run = run_story(story)
    same = next(one for one in run.violations if one.invariant == invariant)

    assert (example.kind, example.complete, run.differences) == ("story", True, ())
    assert example.steps == len(story.steps) <= steps
    assert example.events == len(run.events) <= 30
    assert example.events_before > 500
    signature = signature_of(Past(in_run.events, scenario.rules), in_run.violation)
    assert signature_of(Past(run.events, story.rules), same) == example.signature == signature
    assert story.title == str(signature)
    assert illegal_steps(run.events, story.rules) <= illegal_steps(in_run.events, scenario.rules)


def test_a_story_that_cannot_be_smaller_is_complete_though_the_run_was_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("sim.diagnose.shrink.smallest.story_from_run", lambda *_: None)
        case = ShrinkCase(REUSED, "no-offset-reuse")
    monkeypatch.setattr("sim.diagnose.shrink.smallest.FIRST_SHARE", 0.0)
    monkeypatch.setattr("sim.diagnose.shrink.smallest.SMALL", case.left)
    example = case.shrink(ShrinkBudget(tries=1_000))

    assert (example.kind, example.complete) == ("story", True)


def test_no_story_is_made_for_a_cause_that_none_shows() -> None:
    target, shown, _ = target_of(REUSED, "no-offset-reuse")
    other = target.signature._replace(mechanism=("another",))

    assert story_from_run(shown, target.signature) is not None
    assert story_from_run(shown, other) is None


def test_a_story_of_a_run_waits_for_who_may_join_as_the_run_did_and_as_long() -> None:
    for scenario, invariant in ((REUSED, "no-offset-reuse"), (REMOVED, "tombstone-safety")):
        target, shown, _ = target_of(scenario, invariant)
        found = story_from_run(shown, target.signature)
        assert found is not None
        story = found[1].value

        assert story.rules.replication.high_watermark_waits_for == "caught_up_eligible"
        assert story.replica_lag_max_ms == scenario.timers.replica_lag_max_ms
        text = story_text(story, violated=[invariant], checked=[invariant])
        again = story_from(parse_yaml(text, "story").data, where="story")
        assert again.replica_lag_max_ms == story.replica_lag_max_ms
        assert run_story(again).differences == ()


def test_the_story_of_a_run_has_a_tail_cut_that_was_out_of_range() -> None:
    run = timed("timed_old_leader_beyond_the_new_end")
    target, shown, _ = target_of(run, "no-truncation-below-hw")
    found = story_from_run(shown, target.signature)
    assert found is not None

    last = found[1].value.steps[-1]
    assert (last.op, last["follower"]) == ("fetch", "r1")


# Stories as files: what is written loads to the same story, and reads as people write.

STEPS = parse_yaml(Path(__file__).with_name("steps.yaml").read_text("utf-8"), "steps").data


def read(data: object) -> Story:
    return story_from(data, where="test")


@pytest.mark.parametrize("step", STEPS)
def test_a_story_is_read_back_and_only_what_matters_is_written(step: object) -> None:
    document = {
        "format": "replog-story/1",
        "rules": {"preset": "kafka-4.0", "fix": "none"},
        "replicas": ["r1", "no"],
        "isr": ["no"],
        "steps": ["elect r1 1", step],
    }
    text = story_text(read(document), violated=["log-matching"], remark="so\nit\tis")
    again = read(parse_yaml(text, "text").data)

    assert key_of(again) == key_of(read(document))
    assert again.expect.violated == ("log-matching",)
    assert "preset" not in text
    assert "  - elect r1 1\n" in text
    assert text.count("    # so it is\nexpect:") == 1


def test_a_near_miss_that_violates_something_else_expects_that() -> None:
    text = file_of(LOST_TAIL, "committed-never-lost")
    again = read(parse_yaml(text, "text").data)

    assert "no-offset-reuse" in again.expect.violated
    assert run_story(again).differences == ()
