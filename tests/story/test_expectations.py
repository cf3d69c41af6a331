"""What a story may expect, and what is said when it is not met."""

import json
from pathlib import Path

import pytest

from sim.check.registry import INVARIANTS
from sim.story import load_story, run_story
from tests.story.refusing import BASE, refused


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        ({"violates": []}, "expect.violates: unknown field (did you mean 'violated'?)"),
        (
            {"violated": "no-offset-reuse"},
            'expect.violated: expected a list, not "no-offset-reuse"',
        ),
        ({"violated": [["x"]]}, 'expect.violated[0]: unknown invariant ["x"]'),
        (
            {"checked": ["no-ofset-reuse"]},
            'expect.checked[0]: unknown invariant "no-ofset-reuse" (did',
        ),
        ({"leader": "9"}, "expect.leader: no replica '9'"),
        ({"replicas": {"9": {}}}, "expect.replicas: no replica '9'"),
        ({"replicas": {"1": []}}, "expect.replicas.1: expected fields"),
        ({"replicas": {"1": {"lgo": []}}}, "lgo: unknown field (did you mean 'log'?)"),
        ({"moments": []}, "expect.moments: expected fields"),
        ({"moments": {"later": {}}}, 'expect.moments.later: unknown moment "later"'),
    ],
)
def test_a_wrong_expectation_is_refused(
    tmp_path: Path, expect: dict[str, object], said: str
) -> None:
    assert said in refused(tmp_path, BASE | {"expect": expect})


def test_an_unknown_invariant_is_answered_with_all_of_them(tmp_path: Path) -> None:
    said = refused(tmp_path, BASE | {"expect": {"violated": ["no-luck"]}})

    assert all(name in said for name in INVARIANTS)


def test_an_expectation_that_is_not_met_says_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    expect = {"violated": ["no-offset-reuse"], "leader": "2", "replicas": {"1": {"leo": 5}}}
    path.write_text(json.dumps(BASE | {"expect": expect}))

    assert run_story(load_story(path)).differences() == [
        "no-offset-reuse was not violated, but expected",
        "leader is 1, expected 2",
        "replica 1: leo is 0, expected 5",
    ]
