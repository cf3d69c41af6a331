"""The report's files: self-contained, the same for the same sweep, nothing hidden."""

import json
import re
from html import unescape

import pytest

from sim.check.coverage import SITUATIONS
from tests.commands import python
from tests.html_page import Page
from tests.report.folders import both_fixes, entry, folder_of, pages_of

Pages = dict[str, str]


@pytest.fixture(scope="module")
def out() -> Pages:
    return pages_of(both_fixes())


def test_the_page_needs_nothing_else_and_every_reference_in_it_is_there(
    out: Pages,
) -> None:
    text = out["report.html"]
    page = Page(text)
    inside = re.findall(r"url\(([^)]*)\)", text)

    assert page.unclosed == []
    assert "@import" not in text
    assert "<script" not in text
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    inside += [value for name, value in page.attributes if name in {"src", "href", "xlink:href"}]
    given = [one for one in inside if not one.startswith("data:")]
    assert {one for one in given if one[0] != "#" or one[1:] not in ids} == set()


def test_the_same_sweep_gives_the_same_bytes(out: Pages) -> None:
    program = (
        "import json\n"
        "from tests.report.folders import both_fixes, pages_of\n"
        "print(json.dumps(pages_of(both_fixes())))\n"
    )

    again = python("-c", program, PYTHONHASHSEED="1")

    assert json.loads(again.out) == out


PAGES = ("report.html", "report.md")
TOLD = (
    "offset given twice",
    "120 (10.1\u201314.2 %)",
    "1,200 (\u00d71.200, +100 to +100)",
    "replog sweep 'scenarios/sweeps/a plan.yaml' --count 1000 --seed 280 --out 'a sweep'",
)


@pytest.mark.parametrize("name", PAGES)
def test_both_pages_tell_all_of_it_as_text_and_the_verdict_first(out: Pages, name: str) -> None:
    source = out[name]
    text = unescape(source).replace("\u00a0", " ").replace("\\", "")

    assert [part for part in TOLD if part not in text] == []
    assert "One &lt;fix&gt; &amp; another" in source.replace("\\", "")
    assert "<fix>" not in re.sub(r"```json.*?```", "", source, flags=re.DOTALL)
    tables = ("<table", "<details") if name.endswith("html") else ("\n|", "<details")
    assert text.index("In 998 plain runs") < min(map(text.index, tables))
    assert not re.search(r"\bhunt|\bweather", text.partition("How this was made")[0])


def test_the_json_has_the_verdict_and_every_number(out: Pages) -> None:
    content = json.loads(out["report.json"])

    assert content["format"] == "replog-report/4"
    assert content["commands"][0] == TOLD[-1]
    entries = content["statistics"][0]["rule_sets"]
    assert [one["counts"]["verdict"]["violated"]["runs"] for one in entries] == [120, 0, 7]
    (verdict,) = content["verdict"]
    assert verdict["alternatives"] == ["none", "empty_batch", "leo_retention"]
    assert [one["text"] for one in verdict["sentences"]] == content["headline"][:-1]
    met = [one for one in verdict["findings"] if one["broken"]]
    assert [(one["alternative"], one["runs"], one["judged"]) for one in met] == [
        ("none", 120, 998),
        ("leo_retention", 7, 1_000),
    ]
    assert met[0]["evidence"] == "replog run 'a sweep' 4"
    assert met[0]["low"] == pytest.approx(0.1007, abs=1e-4)


def test_situations_that_no_run_reached_and_hazards_that_nothing_met_are_named(out: Pages) -> None:
    page = unescape(out["report.html"])

    never = page.partition("Situations that no run reached: ")[2].partition("<")[0]
    assert len(never.split(", ")) == len(SITUATIONS) - 1
    assert "Met by no search, run or story: committed record lost" in page
    assert "No search judges: offset given twice" in page


def test_what_a_plan_notes_is_said(out: Pages) -> None:
    folder = both_fixes(notes=["keeps nothing", "keeps a header", "keeps a record"])
    pages = pages_of(folder)

    for name in PAGES:
        assert "keeps a header" in pages[name]
        assert "What each rule set promises" not in out[name]


def test_one_rule_set_without_any_violation_makes_a_page_too() -> None:
    folder = folder_of([{"fix": "none"}], [entry(0, "none", {"holds": 5})], [])

    text = pages_of(folder)["report.html"].replace("\u00a0", " ")

    assert "An invariant was violated in 0 of 5 judged runs (below 52.2 %), plain." in text
    assert Page(text).unclosed == []


def test_an_environment_may_be_without_a_case() -> None:
    met = entry(0, "none", {"violated": 5}, counts={"hazard": {"offset given twice": 5}})
    folder = folder_of([{"fix": "none"}], [met], [])
    folder.statistics.append({"name": "hunted", "rule_sets": [entry(0, "none", {})], "pairs": []})

    assert "faults: 0 seeds, 0 % with" in pages_of(folder)["report.md"].replace("\u00a0", " ")


def test_markdown_tables_have_as_many_cells_in_every_row(out: Pages) -> None:
    lines = out["report.md"].splitlines()

    widths: list[int] = []
    for line in lines:
        if not line.startswith("|"):
            widths = []
            continue
        widths.append(line.replace("\\|", "").count("|"))
        assert len(set(widths)) == 1, line
