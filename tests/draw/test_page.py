"""The HTML page as text: what is in it, how large it is."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import sim.diagnose.draw.page as page_module
from sim.diagnose.draw import DrawnCase, html, png
from sim.diagnose.draw.page import LINE_MAX
from sim.diagnose.draw.scene import Scene
from sim.diagnose.draw.shapes import LOOKS, NOTES
from sim.diagnose.draw.space_time import sentence_of
from sim.errors import BadInput
from sim.files.shipped import install
from sim.protocol.events.sentences import describe
from tests.draw.stories import FIXED_TAIL, LOST_TAIL, big_run, case, four_replicas, red, story


def data(page: str) -> list[dict[str, Any]]:
    """What the script steps through."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    cases: list[dict[str, Any]] = json.loads(found[1])
    return cases


def painted(content: dict[str, Any], until: int) -> dict[tuple[str, int], list[str]]:
    """What the grid shows after a frame, as the script paints it: look and lines, if any."""
    cells: dict[tuple[str, int], list[str]] = {}
    for frame in content["frames"][: until + 1]:
        changes = iter(frame.get("c", []))
        for row, offset, number in zip(changes, changes, changes, strict=True):
            cells[content["rows"][row], offset] = content["cells"][number][:3]
    return {place: cell for place, cell in cells.items() if any(cell[1:])}


def held(drawn: DrawnCase) -> dict[tuple[str, int], list[str]]:
    """The same as the static grid has it."""
    scene = Scene(drawn)
    names = ["committed", *[lane.name for lane in scene.frame.lanes]]
    return {
        (name, offset): list(cell[:3])
        for offset in range(scene.end)
        for name, cell in zip(names, scene.column(offset, scene.frame), strict=True)
        if cell.text or cell.small
    }


def early(drawn: DrawnCase) -> DrawnCase:
    """The same with a violation that was shown soon, and the others after it."""
    assert drawn.violation is not None
    first = drawn.violation._replace(at=drawn.events[60][0], offset=0, key=None, position=60)
    run = replace(drawn.run, violations=(first, *drawn.run.violations))
    return DrawnCase(run, first)


def test_every_violation_is_there_with_its_sentence_and_its_frame() -> None:
    for path, drawn in red(5):
        (content,) = data(html(drawn))
        found = content["violations"]
        assert [each["s"] for each in found] == [each.sentence for each in drawn.run.seen], path
        assert drawn.violation is not None
        assert found[content["chosen"]]["s"] == drawn.violation.sentence
        seen = set[str]()
        for said, violation in zip(found, drawn.run.seen, strict=True):
            at = drawn.events[violation.position][0]
            assert content["frames"][said["f"]]["a"] == at == said["a"], path
            assert painted(content, said["f"]) == held(replace(drawn, violation=violation)), path
            assert said["d"] or violation.invariant in seen, path
            seen.add(violation.invariant)


def test_sentences_name_the_records_that_the_violation_to_open_at_is_about() -> None:
    drawn = early(big_run())
    (content,) = data(html(drawn))
    about = Scene(drawn).about
    told = {sentence_of(event, about, longest=LINE_MAX) for _, event in drawn.events}
    assert {frame["s"] for frame in content["frames"]} <= told


def test_sentences_are_whole_and_are_text_that_wraps_on_a_narrow_page() -> None:
    drawn = four_replicas()
    page = html(drawn)

    (content,) = data(page)
    told = [frame["s"] for frame in content["frames"]]
    assert told == [describe(event) for _, event in drawn.events]
    assert max(map(len, told)) > 100
    assert '<ol class="sentences"></ol>' in page  # and no text of an SVG, which cannot wrap
    assert 'createElementNS(SVG, "text")' not in page


def test_what_was_expected_and_missed_is_what_a_page_opens_with() -> None:
    calm, missed = html(four_replicas()), html(replace(four_replicas(), missed=["<b>", "leader"]))

    assert ('class="calm"' in calm, "Expectation not met" in calm) == (True, False)
    assert 'class="calm"' not in missed
    assert "<li>&lt;b&gt;</li>" in missed[: missed.index("<nav")]


def test_all_signs_are_named_and_nothing_is_fetched_from_anywhere() -> None:
    page = html(case(LOST_TAIL))
    meanings = [*{look.means: 0 for look in LOOKS.values() if look.means}, *NOTES.values()]
    assert [each for each in meanings if f"{each}</li>" not in page] == ["…: columns left out"]
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)\s*=|url\(|@import|fetch\(|XMLHttp", page)


def test_the_same_case_under_another_fix_beside_it() -> None:
    drawn = replace(case(LOST_TAIL, "no-offset-reuse"), name="fix=none")
    fixed = replace(case(FIXED_TAIL), name="fix=empty_batch")

    page = html(drawn, against=fixed)

    first, second = data(page)
    assert (first["name"], second["name"]) == ("fix=none", "fix=empty_batch")
    assert (first["subject"], second["subject"]) == (3, 3)
    assert second["violations"] == []
    assert second["frames"][-1]["a"] > second["frames"][second["focus"]]["a"]  # it goes on
    assert painted(second, second["focus"])["r1", 3][0] == "empty"
    assert painted(second, 0) == {}
    assert '<p class="verdict">Nothing is violated.</p>' in page


def test_of_thousands_of_events_those_that_led_there_are_shown_or_the_last_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = big_run()
    monkeypatch.setattr(page_module, "EVENTS_MAX", 100)
    cone, calm = html(drawn), html(DrawnCase(replace(drawn.run, violations=(), settling=None)))

    total = len(drawn.events)
    assert total > 3_000
    assert len(cone.encode()) < 300_000
    assert f"{total - 100} earlier events left out." in calm
    assert len(data(calm)[0]["frames"]) == 100
    assert "left out." not in cone


@pytest.mark.parametrize(("missing", "what"), [("jinja2", html), ("matplotlib", png)])
def test_what_is_not_installed_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, missing: str, what: Callable[..., object]
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "sim.diagnose.draw.raster", raising=False)

    with pytest.raises(BadInput, match=f"{missing}: {re.escape(install('report'))}"):
        what(DrawnCase(story(LOST_TAIL)))
