"""What marks a tombstone in a story, against fields that contradict each other."""

import pytest

from sim.story import StoryRun
from tests.story.running import log, run_steps

CONTRADICTING = """
elect 1 1
append 1 a A
append 1 b B
append 1 c C
append 1 a2 A tombstone=true flag=false null_value=false
append 1 b2 B tombstone=false flag=true null_value=false
append 1 c2 C tombstone=false flag=false null_value=true
sync 2 1
sync 2 1
"""
LEFT = {
    "explicit": {"B": "b2", "C": "c2"},
    "flag": {"A": "a2", "C": "c2"},
    "null_value": {"A": "a2", "B": "b2"},
    "magic": {"A": "a2", "C": "c2"},
    "header": {"A": "a2", "C": "c2"},
}
"""Mark -> the state: the key whose delete the mark sees is gone."""


def run(mark: str, steps: str, **rules: object) -> StoryRun:
    return run_steps(CONTRADICTING + steps, rules={"tombstone_mark": mark, **rules})


@pytest.mark.parametrize("mark", LEFT)
def test_cleaners_snapshots_and_states_go_by_the_same_mark(mark: str) -> None:
    cleaned = run(mark, "compact 1\nadvance 100\ncompact 1\ncompact 2\nquiesce")
    installed = run(mark, "snapshot 1 6\ndelete_prefix 1 6\nwipe 2\nfetch 2 1\nfetch_snapshot 2 1")

    assert cleaned.violated == installed.violated == []
    assert cleaned.replicas["1"].state == cleaned.replicas["2"].state == LEFT[mark]
    assert log(cleaned, "1") == [
        f"{label}@{'abc'.index(label[0]) + 3}" for label in LEFT[mark].values()
    ]
    assert installed.replicas["2"].state == LEFT[mark]


@pytest.mark.parametrize("mark", LEFT)
def test_a_reader_in_time_has_to_be_given_the_delete_that_the_mark_sees(mark: str) -> None:
    steps = "consume c 2 upto=3\ncompact 1\nconsume c 1"

    assert run(mark, steps, tombstone_removal="horizon").violated == []
    assert run(mark, steps, tombstone_removal="immediate").violated == [
        "consumer-tombstone-visibility"
    ]


@pytest.mark.parametrize("mark", ["explicit", "flag", "null_value"])
def test_a_mark_that_is_false_or_missing_is_none(mark: str) -> None:
    field = {"explicit": "tombstone"}.get(mark, mark)
    said, unsaid = (
        run_steps(
            f"elect 1 1\nappend 1 a A\nappend 1 a2 A {end}\ncompact 1",
            rules={"tombstone_mark": mark},
        )
        for end in (f"{field}=false", "")
    )

    assert said.replicas["1"].state == unsaid.replicas["1"].state


@pytest.mark.parametrize("mark", LEFT)
def test_records_without_a_key_and_aborted_deletes_delete_nothing(mark: str) -> None:
    deleting = "tombstone=true flag=true null_value=true"
    steps = f"""
elect 1 1
append 1 a A
append 1 a2 A {deleting} pid=7
append 1 marker=abort pid=7
quiesce
"""
    told_of = run_steps(steps, replicas=("1",), rules={"tombstone_mark": mark})

    assert told_of.replicas["1"].state == {"A": "a"}
    assert told_of.violated == []
