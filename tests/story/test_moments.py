"""A story notes moments, and claims what replicas held at each: batches and epochs, too."""

from sim.simulate.run.stories import run_story
from sim.simulate.story.format import story_from
from tests.story.refusing import BASE

STEPS = [
    "elect 1 3",
    "append 1 a A",
    {"op": "append", "leader": "1", "label": "-A", "key": "A", "tombstone": True},
    "append 1 b B",
    "sync 2 1",
    "moment written",
    "compact 1",
    "moment cleaned",
    "add_replica 3",
    "moment joined",
]


def story(**moments: object) -> dict[str, object]:
    return BASE | {"replicas": ["1", "2"], "steps": STEPS, "expect": {"moments": moments}}


def test_claims_of_a_moment_speak_of_that_moment() -> None:
    run = run_story(
        story_from(
            story(
                written={"1": {"log": ["a@0", "-A@1", "b@2"]}, "2": {"epochs": [[3, 0]]}},
                cleaned={"1": {"batches": ["-A@1 epoch 3 horizon", "b@2 epoch 3"]}},
                joined={"3": {"batches": [], "epochs": [], "leo": 0}},
            ),
            where="test",
        )
    )

    assert run.differences == ()
    assert run.moments["cleaned"]["2"].batches == ["a@0 epoch 3", "-A@1 epoch 3", "b@2 epoch 3"]


def test_a_claim_that_is_not_met_names_its_moment() -> None:
    run = run_story(
        story_from(
            story(
                written={"1": {"log": ["a@0"]}},
                cleaned={"2": {"epochs": [[3, 0], [4, 3]]}},
            ),
            where="test",
        )
    )

    assert [*run.differences] == [
        "written: replica 1: log is ['a@0', '-A@1', 'b@2'], expected ['a@0']",
        "cleaned: replica 2: epochs is [(3, 0)], expected [(3, 0), (4, 3)]",
    ]
