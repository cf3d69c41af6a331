"""What is told of every story that violates something: the same as was recorded, in values.

No words are held, but what they are made of: why, by which events with which numbers, since when,
and what led to it.
`python -m tests.explain.test_track_record` records it anew, for a story that is new or meant to
differ.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sim.diagnose.explain import ExplanationText, explanation
from sim.diagnose.explain.past import Past
from sim.diagnose.explain.questions import Signature, first_signatures
from sim.files.formats import STORY_FORMAT
from sim.simulate.run.stories import run_story
from sim.simulate.story import load_story
from sim.study.suite.scenario_files import format_of, scenario_files

SCENARIOS = Path(__file__).parents[2] / "scenarios"
RECORDED = Path(__file__).with_name("track_record.txt")
GENERAL = ("write", "read")
"""Kinds of facts that decide nothing by themselves: no more was found than what happened."""


@cache
def told() -> list[tuple[str, Signature, ExplanationText]]:
    """Of each story: its id, and why it broke each invariant first, in each of its families."""
    found = []
    for path in scenario_files(SCENARIOS):
        if format_of(path) == STORY_FORMAT:
            run = run_story(load_story(path))
            past = Past(run.events, run.rules)
            for index, why in first_signatures(past, run.violations).items():
                found.append((run.id, why, explanation(past, run.violations[index])))
    return found


def lines() -> Iterator[str]:
    """Each in a line of values."""
    for story, why, found in told():
        facts = " ".join(
            f"{fact.kind}@{fact.position}:{'.'.join(re.findall('[0-9]+', fact.text))}"
            for fact in found.facts
        )
        cone = " ".join(map(str, found.cone))
        family = f"{why.family} {why.marker}".strip()
        yield f"{story} {why} ({family}); {facts}; since {found.since}; {cone}"


def test_what_is_told_of_the_track_record_is_what_was_recorded() -> None:
    recorded = set(RECORDED.read_text(encoding="utf-8").splitlines())
    stories = {line.split(maxsplit=1)[0] for line in recorded}
    now = {line for line in lines() if line.split(maxsplit=1)[0] in stories}

    assert sorted(now ^ recorded) == []
    assert len(recorded) >= 400


def test_every_violation_of_every_story_has_a_deciding_fact() -> None:
    for story, why, found in told():
        assert found.facts[0].kind not in GENERAL, (story, why)
        decided = [fact.position for fact in found.facts if fact.position is not None]
        assert max(decided, default=0) <= found.cone[-1]
        assert found.since <= found.violation.at
    assert len({why.invariant for _, why, _ in told()}) > 50


if __name__ == "__main__":
    RECORDED.write_text("".join(f"{line}\n" for line in sorted(lines())), encoding="utf-8")
