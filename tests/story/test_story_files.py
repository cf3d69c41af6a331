"""Every story in scenarios/ meets its expectation, and together they cover rules and invariants."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cache
from itertools import permutations
from pathlib import Path

import pytest

from sim.protocol.rules import RULES, Rules, RuleValue
from sim.simulate.run import Run
from sim.simulate.run.stories import run_story
from sim.simulate.story import Story, load_story
from tests.story.pairs import PAIRS, Pair

ROOT = Path(__file__).parents[2]
PATHS = sorted(
    path
    for path in (ROOT / "scenarios").rglob("*.yaml")
    if path.read_text(encoding="utf-8").startswith("format: replog-story/1")
)
WITHOUT_EFFECT = {
    "offset_assignment": "the op `push` is the naive design; it is allowed under any rule",
    "empty_segments": "a story has no segments; log files show the difference",
    "old_formats": "every batch of a story is of magic 2; log files of scenarios/kip534 show it",
    "roll": "a story has no segments; scenarios/kip354 shows the difference in simulated time",
    "pre_vote": "a step says who campaigns; scenarios/raft/timed_back_from_a_partition shows it",
    "election_backoff": "a step says who campaigns; scenarios/raft/timed_back_with_a_shorter_log",
    "check_quorum": "no leader resigns by itself; scenarios/raft/timed_leader_without_a_majority",
    "successors": "no leader resigns by itself; scenarios/raft/timed_leader_retires",
    "eligible_leaders": "a step says who leads; scenarios/isr/timed_eligible_leader_replicas",
    "unclean_election": "a step says who leads; scenarios/isr/timed_unclean_election",
    "marker_epoch": "no marker of a story comes again; scenarios/transactions/timed_marker_again",
    "verification": "no story has a coordinator; transactions/timed_late_data_is_verified",
    "log_holds": "no step deletes by age; scenarios/kip630/timed_delete_policy_loses_state",
    "lag_estimate": "nobody looks at a log in a story; scenarios/kip354 shows the difference",
    "lag_metric": "nobody looks at a log in a story; scenarios/kip354 shows the difference",
}
"""Rules that change nothing in a story, and why."""

ALIKE = {
    ("horizon_stamp", "on_sight", "mapped"),
    ("horizon_stamp", "mapped", "on_sight"),
    ("tombstone_removal", "horizon", "record_horizon"),
    ("tombstone_removal", "record_horizon", "horizon"),
    ("segment_swap", "swap_files", "new_first"),
    ("segment_swap", "new_first", "swap_files"),
    ("tombstone_mark", "flag", "header"),
    ("tombstone_mark", "header", "flag"),
    ("tombstone_mark", "null_value", "magic"),
    ("tombstone_mark", "flag", "magic"),
    ("tombstone_mark", "header", "magic"),
}
"""Changes of a rule that no story can tell: its batches hold one record, its passes map all, and
a step's `flag` becomes whatever the mark asks for; `magic` reads whichever field there is."""


@cache
def loaded(path: Path) -> Story:
    return load_story(path)


@cache
def by_id() -> dict[str, Story]:
    return {story.id: story for story in map(loaded, PATHS)}


@cache
def run_of(story_id: str) -> Run:
    """What comes of a story as it is; each is run once for all tests."""
    return run_story(by_id()[story_id])


def shown(run: Run) -> object:
    """What a story ends with: what was violated, and each replica."""
    return sorted(run.violated), run.replicas, run.leader


def outcome(story: Story) -> object:
    return shown(run_story(story))


def known_outcome(story_id: str) -> object:
    return shown(run_of(story_id))


def distance(one: Story, other: Story) -> int:
    """Rules that differ, plus steps that were added, removed or replaced."""
    changed = len(one.rules.differing_from(other.rules))
    left = [(step.op, str(step.fields)) for step in one.steps]
    right = [(step.op, str(step.fields)) for step in other.steps]
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        changed += 0 if tag == "equal" else max(i2 - i1, j2 - j1)
    return changed


def test_every_story_ends_as_it_says() -> None:
    differing = {path.stem: run_of(path.stem).differences for path in PATHS}

    assert {name: found for name, found in differing.items() if found} == {}


def test_a_story_says_what_it_is_about_and_who_says_so() -> None:
    stories = {path.stem: loaded(path) for path in PATHS}

    assert [stem for stem, story in stories.items() if story.id != stem] == []
    assert [stem for stem, story in stories.items() if not (story.title and story.source)] == []


def test_no_two_stories_share_an_id() -> None:
    assert len({story.id for story in map(loaded, PATHS)}) == len(PATHS) > 100


EVERY_PAIR = [(name, pair) for name, pairs in PAIRS.items() for pair in pairs]


@pytest.mark.parametrize(("name", "pair"), EVERY_PAIR)
def test_an_invariant_can_be_violated_and_its_neighbour_holds(name: str, pair: Pair) -> None:
    for story_id, violates in ((pair.violating, True), (pair.near_miss, False)):
        story = by_id()[story_id]
        judged = replace(story, expect=replace(story.expect, checked=(name,)))
        assert (name in run_story(judged).violated) == violates


@pytest.mark.parametrize(("name", "pair"), EVERY_PAIR)
def test_the_neighbour_is_near(name: str, pair: Pair) -> None:
    violating, near_miss = by_id()[pair.violating], by_id()[pair.near_miss]

    assert 1 <= distance(violating, near_miss) <= 3


ONE_SWITCH = [
    ("kip280_15_believed_position_hw_truncation", "kip280_26", "slot-agreement", "fix"),
    ("kip280_16_believed_position_epoch_truncation", "kip280_17", "consumer-no-skip", "fix"),
    ("kip280_16_believed_position", "kip280_37", "no-offset-reuse", "follower_position"),
    ("kip280_18_expired_last_tombstone", "kip280_19", "no-offset-reuse", "fix"),
    ("kip280_72_retained_loser", "kip280_73", "consumer-ends-current", "fix"),
    ("kip280_59_narrow_empty_batch", "kip280_60", "follower-position-sound", "fix"),
]
"""The bugs at the end of a log, with what cures them: how their ids begin, and the one rule apart.

KIP-280's own hazard under old and new truncation, what it does not mention (what the leader writes
down after an empty read), the same with Kafka's own strategy (KAFKA-17076), the wrong answer for
good of KIP-280's first option, and KAFKA-20452 with one unclean election.
"""


@pytest.mark.parametrize(("bug", "cure", "invariant", "rule"), ONE_SWITCH)
def test_one_switch_decides_at_the_end_of_a_log(
    bug: str, cure: str, invariant: str, rule: str
) -> None:
    violating, holding = (
        next(story for name, story in by_id().items() if name.startswith(start))
        for start in (bug, cure)
    )

    assert violating.rules.differing_from(holding.rules).keys() == {rule}
    assert [step.fields for step in violating.steps] == [step.fields for step in holding.steps]
    assert invariant in run_of(violating.id).violated
    assert invariant not in run_of(holding.id).violated
    assert invariant not in holding.expect.violated


def changes(rule: str) -> Iterator[tuple[RuleValue, RuleValue]]:
    """Every change of the rule's value that some story can tell."""
    for before, after in permutations(RULES[rule].values, 2):
        if (rule, before, after) not in ALIKE:
            yield before, after


@cache
def likeliest_first(rule: str) -> list[Story]:
    """All stories: first the examples of a rule's values and those that set it, then near ones."""
    usual = Rules().as_dict()[rule]
    examples = {Path(value.example).stem for value in RULES[rule].described()}
    examples |= {story.id for story in by_id().values() if story.rules.as_dict()[rule] != usual}
    near = Counter(path.parent for path in PATHS if path.stem in examples)
    paths = sorted(PATHS, key=lambda path: (path.stem not in examples, -near[path.parent]))
    return [loaded(path) for path in paths]


def tells(story: Story, rule: str, after: RuleValue) -> bool:
    changed = replace(story, rules=story.rules.with_values({rule: after}))
    return outcome(changed) != known_outcome(story.id)


@pytest.mark.parametrize("rule", [name for name in Rules().as_dict() if name not in WITHOUT_EFFECT])
def test_every_change_of_a_rule_makes_a_difference_in_some_story(rule: str) -> None:
    of_value = {
        value: [story for story in likeliest_first(rule) if story.rules.as_dict()[rule] == value]
        for value in RULES[rule].values
    }

    assert [
        (before, after)
        for before, after in changes(rule)
        if not any(tells(story, rule, after) for story in of_value[before])
    ] == []


def test_numbers_in_rules_make_a_difference() -> None:
    longer = by_id()["kip534_01_horizon_of_the_batch"]
    alone = by_id()["isr_03_leader_alone_in_sync"]
    waits = by_id()["snap_29_prefix_waits_no_longer_than_agreed"]

    for story, change in (
        (longer, {"delete_retention_ms": 101}),
        (alone, {"min_isr": 2}),
        (waits, {"start_offset_lag_ms": 101}),
    ):
        assert outcome(replace(story, rules=story.rules.with_values(change))) != outcome(story)
