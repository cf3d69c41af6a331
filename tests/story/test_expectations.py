"""What is said where a story's expectation is not met, and what it is compared with."""

import pytest

from sim.simulate.run import Run
from sim.simulate.run.stories import run_story
from sim.simulate.story.format import story_from
from tests.story.refusing import BASE

QUIET = ["elect 1 1", "isr 1", "append 1 a A", "check"]
"""2 is behind when all is at rest, which is for `leo-convergence`."""


def run(*steps: str, **expect: object) -> Run:
    return run_story(story_from(BASE | {"steps": list(steps), "expect": expect}, where="test"))


def test_an_expectation_that_is_not_met_says_what_differs() -> None:
    found = run("elect 1 1", violated=["no-offset-reuse"], leader="2", replicas={"1": {"leo": 5}})

    assert [*found.differences] == [
        "no-offset-reuse was not violated, but expected",
        "leader is 1, expected 2",
        "replica 1: leo is 0, expected 5",
    ]


@pytest.mark.parametrize(
    ("expect", "verdict", "said"),
    [
        ({}, "holds", []),
        ({"checked": ["no-offset-reuse"]}, "holds", []),
        ({"violated": ["leo-convergence"]}, "violated", []),
        ({"violated": ["leo-convergence"], "checked": ["log-matching"]}, "violated", []),
        (
            {"checked": ["leo-convergence"]},
            "violated",
            ["leo-convergence was violated, not expected"],
        ),
        (
            {"violated": ["log-matching"]},
            "holds",
            ["log-matching was not violated, but expected"],
        ),
    ],
)
def test_only_what_is_judged_decides(
    expect: dict[str, object], verdict: str, said: list[str]
) -> None:
    found = run(*QUIET, **expect)

    assert (found.verdict, [*found.differences]) == (verdict, said)
    assert [one.invariant for one in found.seen] == ["leo-convergence"]
    assert (found.violated == ["leo-convergence"]) == (verdict == "violated")
    assert bool(found.not_judged) != bool(found.violations)
