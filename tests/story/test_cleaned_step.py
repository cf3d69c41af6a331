"""A step `cleaned` leaves a log as earlier passes did, whatever the rules say."""

from sim.simulate.run.stories import run_story
from sim.simulate.story.format import story_from

BEGINNING = ["elect r1 1", "append r1 a K", "append r1 b L", "append r1 d K tombstone=true"]


def run(*steps: object):
    return run_story(
        story_from(
            {"format": "replog-story/1", "replicas": ["r1"], "steps": [*BEGINNING, *steps]},
            where="story",
        )
    )


def test_it_takes_out_what_it_names_and_moves_the_checkpoint() -> None:
    found = run({"op": "cleaned", "replica": "r1", "offsets": [0, 2], "upto": 3})

    assert found.replicas["r1"].log == ["b@1"]
    assert found.violated == []
    assert found.events[-1][1].upper_bound == 3
    assert [(one.offset, one.reason) for one in found.events[-1][1].removals] == [
        (0, "superseded"),
        (2, "tombstone"),
    ]


def test_a_pass_goes_by_the_horizon_that_it_sets() -> None:
    early = run(
        {"op": "cleaned", "replica": "r1", "horizons": [[2, 50]]}, "advance 49", "compact r1"
    )
    late = run(
        {"op": "cleaned", "replica": "r1", "horizons": [[2, 50]]}, "advance 50", "compact r1"
    )

    assert early.replicas["r1"].log == ["b@1", "d@2"]
    assert late.replicas["r1"].log == ["b@1"]


def test_what_is_taken_out_although_nothing_supersedes_it_is_reported() -> None:
    found = run("cleaned r1 offsets=1", "check")

    assert "hole-justified" in found.violated
