"""The HTML page as text: what is in it, how large it is, what hostile keys cannot do."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import sim.draw.page as page_module
from sim.draw import Case, html, png
from sim.draw.page import PAGE_BYTES_MAX
from sim.draw.scene import Scene
from sim.draw.signs import MEANINGS, NOTES
from sim.errors import BadInput
from sim.trace import Appended
from tests.draw.stories import FIXED_TAIL, LOST_TAIL, big_run, case, red, story


def data(page: str) -> list[dict[str, Any]]:
    """What the script steps through."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    cases: list[dict[str, Any]] = json.loads(found[1])
    return cases


def chosen(case: dict[str, Any]) -> dict[str, Any]:
    """The violation that a page opens at."""
    found: dict[str, Any] = case["violations"][case["chosen"]]
    return found


def last_cells(case: dict[str, Any], until: int) -> dict[tuple[int, int], list[str]]:
    """The cells after a frame, by row and offset, as the page's script builds them."""
    cells: dict[tuple[int, int], list[str]] = {}
    for frame in case["frames"][: until + 1]:
        changes = frame.get("c", [])
        for place in range(0, len(changes), 3):
            row, offset, number = changes[place : place + 3]
            cells[(row, offset)] = case["cells"][number]
    return cells


def painted(content: dict[str, Any], until: int) -> dict[tuple[str, int], list[str]]:
    """What a page shows in its grid, where that is something: (row, offset) -> look and lines."""
    cells = last_cells(content, until)
    return {
        (content["rows"][row], at): cell[:3] for (row, at), cell in cells.items() if any(cell[1:3])
    }


def held(drawn: Case) -> dict[tuple[str, int], list[str]]:
    """The same as the static grid has it."""
    scene = Scene(drawn)
    names = ["committed", *[lane.name for lane in scene.frame.lanes]]
    return {
        (name, offset): list(cell[:3])
        for offset in range(scene.end)
        for name, cell in zip(names, scene.column(offset, scene.frame), strict=True)
        if cell.text or cell.small
    }


def test_the_page_opens_at_the_event_that_shows_the_violation() -> None:
    (drawn,) = data(html(case(LOST_TAIL, "no-offset-reuse")))

    violation = chosen(drawn)
    assert drawn["frames"][violation["f"]]["s"] == "r3 appends E=e@3 in epoch 2"
    assert (violation["o"], drawn["rows"][violation["r"]]) == (3, "r3")
    cells = last_cells(drawn, violation["f"])
    assert cells[(0, 3)][:3] == ["k0", "A=d", "v1"]
    assert cells[(1, 3)][:3] == ["hole", "superseded", "by 0"]
    assert cells[(3, 3)][:3] == ["wrong", "E=e", "≠ v1"]


def test_every_violation_of_a_run_is_there_with_its_sentence_and_its_frame() -> None:
    for path, drawn in list(red())[::5]:
        (content,) = data(html(drawn))
        found = content["violations"]
        assert [each["s"] for each in found] == [each.sentence for each in drawn.violations], path
        seen = set[str]()
        for said, violation in zip(found, drawn.violations, strict=True):
            at = drawn.events[violation.position][0]
            assert content["frames"][said["f"]]["a"] == at == said["a"], path
            assert painted(content, said["f"]) == held(replace(drawn, violation=violation)), path
            assert said["d"] or violation.invariant in seen, path
            seen.add(violation.invariant)


def test_all_signs_are_named() -> None:
    page = html(case(LOST_TAIL))
    meanings = (*MEANINGS.values(), *NOTES.values())
    assert [each for each in meanings if f"{each}</li>" not in page] == ["…: columns left out"]


def test_nothing_is_fetched_from_anywhere() -> None:
    page = html(case(LOST_TAIL))

    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)\s*=", page)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttp", page)


def test_keys_and_values_cannot_leave_their_place() -> None:
    known = case(LOST_TAIL, "no-offset-reuse")
    nasty = "</script><img onerror=alert(1)>\"'&\u2028\ud800"
    place = next(n for n, (_, each) in enumerate(known.events) if isinstance(each, Appended))
    at, first = known.events[place]
    assert isinstance(first, Appended)
    assert known.violation is not None
    records = (first.batch.records[0]._replace(key=nasty, value=nasty),)
    spoilt = first._replace(batch=first.batch._replace(records=records))
    violation = known.violation._replace(
        at=at, offset=0, key=nasty, says=nasty, evidence=(), position=place
    )
    drawn = Case([*known.events[:place], (at, spoilt)], violation, name=nasty, verdict=nasty)

    page = html(drawn, title=nasty, explanation=[nasty], command=nasty)

    assert "<img" not in page
    assert page.count("</script>") == 2
    assert any("img onerror" in cell[1] for cell in data(page)[0]["cells"])


def test_the_same_case_under_another_fix_beside_it() -> None:
    drawn = replace(case(LOST_TAIL, "no-offset-reuse"), name="fix=none")
    fixed = replace(case(FIXED_TAIL), name="fix=empty_batch", verdict="Fine.")

    page = html(drawn, against=fixed)

    first, second = data(page)
    assert (first["name"], second["name"]) == ("fix=none", "fix=empty_batch")
    assert (first["subject"], second["subject"]) == (3, 3)
    assert second["violations"] == []
    assert second["frames"][-1]["a"] > second["frames"][second["focus"]]["a"]  # it goes on
    assert last_cells(second, second["focus"])[(1, 3)][0] == "empty"
    assert "Fine." in page


def test_a_run_of_thousands_of_events_stays_below_a_megabyte() -> None:
    drawn = big_run()
    assert len(drawn.events) > 3_000

    cone, everything = html(drawn), html(drawn, everything=True)

    assert len(cone.encode()) < 300_000
    assert len(everything.encode()) <= PAGE_BYTES_MAX
    assert f"{len(drawn.events)} of {len(drawn.events)} events" in everything
    assert "left out, to keep" not in everything


@pytest.mark.parametrize("early", [False, True])
def test_what_does_not_fit_is_left_out_and_said(
    early: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = big_run()
    assert drawn.violation is not None
    if early:
        at = drawn.events[60][0]
        one = drawn.violation._replace(at=at, offset=0, position=60)
        drawn = replace(drawn, violation=one, violations=(one, *drawn.violations))
    monkeypatch.setattr(page_module, "PAGE_BYTES_MAX", 250_000)

    page = html(drawn, everything=True)

    (content,) = data(page)
    shown, total = len(content["frames"]), len(drawn.events)
    assert 100 < shown < total
    assert len(page.encode()) <= 250_000
    which = "later" if early else "earlier"
    assert re.search(rf"{total - shown} {which} events left out, to keep this file", page)
    found = content["violations"]
    assert [content["frames"][each["f"]]["a"] for each in found] == [each["a"] for each in found]
    assert chosen(content)["a"] == drawn.violation.at
    monkeypatch.setattr(page_module, "PAGE_BYTES_MAX", 10_000)
    with pytest.raises(BadInput, match="even one moment of its logs takes more than 10,000 bytes"):
        html(drawn)


def test_the_same_run_gives_the_same_page() -> None:
    assert html(case(LOST_TAIL)) == html(case(LOST_TAIL))


@pytest.mark.parametrize(("missing", "what"), [("jinja2", html), ("matplotlib", png)])
def test_what_is_not_installed_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, missing: str, what: Callable[..., object]
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "sim.draw.raster", raising=False)

    with pytest.raises(BadInput, match=rf"{missing}: pip install 'replog\[report\]'"):
        what(Case(story(LOST_TAIL).events))
