"""The committed verdict is that of its evidence, and the README's is that of the committed page."""

import re
from pathlib import Path

import pytest

from sim.files.foreign import markdown
from sim.study.report.grid import RUNS, Grid, grids_of, lines_of
from tests.report.test_grid import planned

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("leo_fixes", "cures")


def sentences(page: str) -> list[str]:
    """The paragraphs between the title of a page and its grid."""
    text = (ROOT / f"reports/{page}.md").read_text(encoding="utf-8")
    return [one for one in text.partition("\n| ")[0].strip().split("\n\n")[1:] if one]


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
            proven = [one for one in grid.cell(hazard, label) if one.unit.kind != RUNS]
            lines = [line for line in said if not re.search(r"\d of [\d,]+ \(|\) of [\d,]+ ", line)]
            said_now = [markdown.text(line) for line in lines_of(proven)]
            assert lines in (said_now, said_now[1:] if "not searched" in said_now else said_now), (
                hazard,
                label,
            )


def test_the_readme_quotes_the_page() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    _, found, rest = text.partition("<!-- verdict of leo_fixes.yaml -->\n")

    assert found
    quoted = rest.partition("<!-- end -->")[0]
    assert [one for one in quoted.strip().split("\n\n") if one] == sentences("leo_fixes")


def test_a_rate_in_a_sentence_is_in_a_cell() -> None:
    known = cells("leo_fixes")
    for hazard, counts in re.findall(
        r"([a-z ]+?) in ((?:\d+, )+\d+)", " ".join(sentences("leo_fixes"))
    ):
        row = next(said for name, said in known.items() if hazard.strip().endswith(name))
        for cell, count in zip(row, counts.split(", "), strict=True):
            assert any(re.search(rf"(?<![\d,]){count}(?![\d,])", line) for line in cell), hazard
