"""The HTML page as text: what is in it, how large it is, what hostile keys cannot do."""

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

import sim.draw.page as page_module
from sim.draw import Case, html, png
from sim.draw.page import PAGE_BYTES_MAX
from sim.errors import BadInput
from sim.trace import Appended
from tests.draw.stories import LOST_TAIL, big_run, story, violation_of


def data(page: str) -> list[dict[str, Any]]:
    """What the script steps through."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    cases: list[dict[str, Any]] = json.loads(found[1])
    return cases


def last_cells(case: dict[str, Any], until: int) -> dict[tuple[int, int], list[str]]:
    """The cells after a frame, by row and offset, as the page's script builds them."""
    cells: dict[tuple[int, int], list[str]] = {}
    for frame in case["frames"][: until + 1]:
        changes = frame.get("c", [])
        for place in range(0, len(changes), 3):
            row, offset, number = changes[place : place + 3]
            cells[(row, offset)] = case["cells"][number]
    return cells


def test_the_page_opens_at_the_event_that_shows_the_violation() -> None:
    run = story(LOST_TAIL)
    (case,) = data(html(run.events, violation_of(run, "no-offset-reuse"), rules=run.story.rules))

    focus = case["focus"]
    assert case["frames"][focus]["s"] == "r3 appends E=e@3 in epoch 2"
    assert (case["subject"], case["rows"][case["row"]]) == (3, "r3")
    cells = last_cells(case, focus)
    assert cells[(0, 3)][:3] == ["k0", "A=d", "v1"]
    assert cells[(1, 3)][:3] == ["hole", "superseded", "by 0"]
    assert cells[(3, 3)][:3] == ["wrong", "E=e", "≠ v1"]


def test_nothing_is_fetched_from_anywhere() -> None:
    run = story(LOST_TAIL)
    page = html(run.events, run.violations[0])

    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)\s*=", page)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttp", page)


def test_keys_and_values_cannot_leave_their_place() -> None:
    run = story(LOST_TAIL)
    nasty = "</script><img onerror=alert(1)>\"'&\u2028\ud800"
    (at, first) = next(each for each in run.events if isinstance(each[1], Appended))
    records = (first.batch.records[0]._replace(key=nasty, value=nasty),)
    events = [
        (
            at,
            event._replace(batch=event.batch._replace(records=records))
            if event is first
            else event,
        )
        for at, event in run.events[:6]
    ]
    violation = run.violations[0]._replace(at=at, offset=0, key=nasty, says=nasty)

    page = html(events, violation, title=nasty, explanation=[nasty], command=nasty, verdict=nasty)

    assert "<img" not in page
    assert page.count("</script>") == 2
    assert any("img onerror" in cell[1] for cell in data(page)[0]["cells"])


def test_the_same_case_under_another_fix_beside_it() -> None:
    run = story(LOST_TAIL)
    fixed = story("kip280/kip280_26_believed_position_hw_truncation_empty_batch.yaml")
    violation = violation_of(run, "no-offset-reuse")

    page = html(
        run.events,
        violation,
        rules=run.story.rules,
        name="fix=none",
        against=Case(
            fixed.events, rules=fixed.story.rules, name="fix=empty_batch", verdict="Fine."
        ),
    )

    first, second = data(page)
    assert (first["name"], second["name"]) == ("fix=none", "fix=empty_batch")
    assert (first["subject"], second["subject"]) == (3, 3)
    assert (first["violated"], second["violated"]) == (True, False)
    assert last_cells(second, second["focus"])[(1, 3)][0] == "empty"
    assert "Fine." in page


def test_a_run_of_thousands_of_events_stays_below_a_megabyte() -> None:
    events, violation, rules = big_run()
    assert len(events) > 3_000

    cone = html(events, violation, rules=rules)
    everything = html(events, violation, rules=rules, everything=True)

    assert len(cone.encode()) < 300_000
    assert len(everything.encode()) <= PAGE_BYTES_MAX
    assert f"{len(events)} of {len(events)} events" in everything
    assert "left out, to keep" not in everything


def test_what_does_not_fit_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    events, violation, rules = big_run()
    monkeypatch.setattr(page_module, "PAGE_BYTES_MAX", 250_000)

    page = html(events, violation, rules=rules, everything=True)

    (case,) = data(page)
    shown, total = len(case["frames"]), len(events)
    assert 100 < shown < total
    assert len(page.encode()) <= 250_000
    assert f"{total - shown} earlier events left out, to keep this file below 1 MB" in page
    assert case["frames"][case["focus"]]["a"] == violation.at
    early = violation._replace(at=events[60][0], position=60, offset=0)
    page = html(events, early, rules=rules, everything=True)
    (case,) = data(page)
    assert case["frames"][case["focus"]]["a"] == early.at
    assert re.search(r"\d+ later events left out, to keep this file below 1 MB", page)
    monkeypatch.setattr(page_module, "PAGE_BYTES_MAX", 10_000)
    with pytest.raises(BadInput, match="even one moment of its logs takes more than 10,000 bytes"):
        html(events, violation, rules=rules)


def test_the_same_run_gives_the_same_page() -> None:
    run = story(LOST_TAIL)

    assert html(run.events, run.violations[0]) == html(run.events, run.violations[0])


@pytest.mark.parametrize(("missing", "what"), [("jinja2", html), ("matplotlib", png)])
def test_what_is_not_installed_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, missing: str, what: Callable[..., object]
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "sim.draw.raster", raising=False)

    with pytest.raises(BadInput, match=rf"{missing}: pip install 'replog\[report\]'"):
        what(story(LOST_TAIL).events)
