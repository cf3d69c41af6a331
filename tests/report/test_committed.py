"""The committed verdict is that of its evidence, and the README's is that of the committed page."""

import re

import pytest

from sim.study.report.cells import cell_lines
from sim.study.report.grid import Grid, grids_of
from sim.study.sweep.hazards import HAZARDS
from tests.report.quoting import PLACE, ROOT, sentences
from tests.report.test_grid import planned

PAGES = ("leo_fixes", "cures")


def cells(page: str) -> dict[str, list[list[str]]]:
    """Hazard -> the lines of each of its cells."""
    text = (ROOT / f"reports/{page}.md").read_text(encoding="utf-8")
    table = text.partition("\n| hazard |")[2].partition("\n\n")[0].split("\n")[2:]
    rows = [[one.strip() for one in line.strip("| ").split(" | ")] for line in table]
    return {row[0]: [cell.split("<br>") for cell in row[1:]] for row in rows}


@pytest.fixture(scope="module", params=PAGES)
def page(request: pytest.FixtureRequest) -> tuple[str, Grid]:
    name = str(request.param)
    return name, grids_of(planned(ROOT / f"scenarios/sweeps/{name}.yaml"))[0]


def test_what_searches_and_stories_say_in_a_committed_cell_is_what_they_say(
    page: tuple[str, Grid],
) -> None:
    """A story that is added and breaks a cell, or a search that is made anew, is told here."""
    name, grid = page
    known = cells(name)

    assert {*grid.hazards} <= {*known}
    for hazard in known:
        for label, said in zip(grid.alternatives, known[hazard], strict=True):
            now = cell_lines(grid, hazard, label, None)
            unlinked = [re.sub(r"\[(.+?)\]\(#[\w-]+\)", r"\1", one) for one in said]
            proven = [
                [line for line in lines if not re.search(r"\d of [\d,]+$", line)]
                for lines in (unlinked, now)
            ]
            assert proven[0] == proven[1], (hazard, label)


def test_the_readme_quotes_the_page() -> None:
    found = PLACE.search((ROOT / "README.md").read_text(encoding="utf-8"))

    assert found
    assert found[0].strip().split("\n\n") == sentences("leo_fixes")


@pytest.mark.parametrize("name", PAGES)
def test_a_rate_in_a_sentence_is_in_a_cell(name: str) -> None:
    known = cells(name)
    rate = r"([a-z][a-z ]+) \(([\d,]+ to [\d,\u2013]+)(?:, [\w, ]+)?\)"
    falls = re.findall(rate, "; ".join(sentences(name)))

    assert falls
    for phrase, counts in falls:
        row = next(known[one.name] for one in HAZARDS if phrase.endswith(one.phrase))
        for count in re.split(" to |\u2013", counts):
            found = rf"(?<![\d,]){count}(?![\d,])"
            assert any(re.search(found, line) for cell in row for line in cell), phrase


@pytest.mark.parametrize("name", PAGES)
def test_links_of_a_committed_page_lead_somewhere_on_it(name: str) -> None:
    text = (ROOT / f"reports/{name}.md").read_text(encoding="utf-8")
    anchors = re.findall(r'<a id="([^"]+)">', text)

    assert len(anchors) == len({*anchors})
    assert {*re.findall(r"\]\(#([^)]+)\)", text)} == {*anchors}


def test_the_page_of_the_fixes_is_read_in_two_minutes() -> None:
    text = (ROOT / "reports/leo_fixes.md").read_text(encoding="utf-8")
    words = [len(re.findall(r"\S*\w\S*", one)) for one in (text.partition("<details>")[0], text)]

    assert words[0] <= 900
    assert words[1] <= 2_500
