"""`replog explain`: why, and what if."""

import pytest

import sim
from sim.diagnose.what_if import Healings
from sim.simulate.story import Story
from tests.commands import STORY, replog


def test_a_change_that_ends_in_an_error_heals_nothing_and_is_told_as_text_data_and_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(value: Story, invariant: str) -> list[str]:
        if value.rules.cleaner.fix == "empty_batch":
            raise IndexError("beyond\nthe log")
        return [invariant]

    monkeypatch.setattr("sim.diagnose.what_if.violated_by", failing)
    lines = replog("explain", STORY, "--what-if").out.splitlines()
    document = replog("explain", STORY, "--what-if", "--json").document
    table = sim.run(STORY).heals("follower-position-sound")

    told = lines.index("  not known, since the run ends early or in an error:")
    assert lines[told + 1] == "    fix: empty_batch (IndexError: beyond)"
    error = {"kind": "rule", "change": "fix: empty_batch", "error": "IndexError: beyond"}
    assert (document["heals"], document["failed"]) == ([], [error])
    assert table.error.dropna().tolist() == ["IndexError: beyond"]
    assert not (table[table.error.notna()].still == "").any()


def test_the_whole_time_is_for_the_changes_of_a_story(monkeypatch: pytest.MonkeyPatch) -> None:
    """A story has no point of no return that takes a half."""
    given: list[float] = []

    def healing(_story: Story, _invariant: str, *, within_s: float) -> Healings:
        given.append(within_s)
        return Healings((), (), 0, complete=True)

    monkeypatch.setattr("sim.diagnose.what_if.heals", healing)

    replog("explain", STORY, "--what-if", "--within", 8)

    assert given == [8]
