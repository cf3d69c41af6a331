"""The report's files: self-contained, the same for the same sweep, nothing hidden."""

import base64
import html.parser
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sim.check.coverage import SITUATIONS
from sim.errors import BadInput
from sim.report import write_report
from sim.sweeps.stats import clopper_pearson
from tests.report.folders import both_fixes, entry, rule_set, write_folder

FILES = ("report.html", "report.md", "report.json")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = both_fixes(tmp_path_factory.mktemp("report") / "a sweep")
    write_report(folder)
    return folder


class Page(html.parser.HTMLParser):
    """Collects what matters of a page, and fails where tags do not close."""

    EMPTY = frozenset({"meta", "br", "link", "img", "use", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.EMPTY:
            self.open.append(tag)
        self.note(attrs)

    def handle_startendtag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.note(attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def note(self, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.addresses += [
            value or "" for name, value in attrs if name in {"src", "href", "xlink:href"}
        ]


def test_the_page_needs_nothing_else(out: Path) -> None:
    text = (out / "report.html").read_text()
    page = Page(text)

    assert page.open == []
    assert all(address.startswith(("#", "data:")) for address in page.addresses)
    assert "@import" not in text
    assert "<script" not in text
    assert all(address.startswith("#") for address in re.findall(r"url\(([^)]*)\)", text))


def test_no_id_occurs_twice_and_every_reference_is_there(out: Path) -> None:
    text = (out / "report.html").read_text()
    page = Page(text)

    assert len(page.ids) == len(set(page.ids))
    references = {address[1:] for address in page.addresses if address.startswith("#")}
    references |= set(re.findall(r"url\(#([^)]*)\)", text))
    assert references <= set(page.ids)


def test_the_same_sweep_gives_the_same_bytes(out: Path) -> None:
    before = [(out / name).read_bytes() for name in FILES]
    program = (
        "from pathlib import Path\n"
        "from sim.report import write_report\n"
        f"write_report(Path({str(out)!r}))\n"
    )

    environment = os.environ | {"PYTHONHASHSEED": "1"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)

    assert [(out / name).read_bytes() for name in FILES] == before


def test_text_of_the_simulation_is_escaped(out: Path) -> None:
    assert "k1=&lt;d&gt;" in (out / "report.md").read_text()
    text = (out / "report.html").read_text()

    assert "k1=&lt;d&gt;" in text
    assert "<d>" not in text
    assert "One &lt;fix&gt; &amp; another" in text


@pytest.mark.parametrize("name", ["report.html", "report.md"])
def test_the_shortest_runs_come_with_sentence_and_command(out: Path, name: str) -> None:
    text = (out / name).read_text()

    assert "r1 gave offset 3 to k1=" in text
    assert (
        "replog replay 'a sweep' 33".replace("'", "&#39;" if name.endswith("html") else "'") in text
    )
    assert "1,234" in text


def test_the_earliest_violation_of_each_invariant_can_be_replayed(out: Path) -> None:
    shown = json.loads((out / "report.json").read_text())["shortest"][0]["invariants"]

    assert [one["invariant"] for one in shown] == ["no-offset-reuse"]
    assert shown[0]["command"] == "replog replay 'a sweep' 36"
    assert (
        "- no-offset-reuse, after 1 ms: so early `replog replay 'a sweep' 36`"
        in (out / "report.md").read_text()
    )
    assert "so early" in (out / "report.html").read_text()


@pytest.mark.parametrize("name", ["report.html", "report.md"])
def test_the_fixes_are_compared_invariant_by_invariant(out: Path, name: str) -> None:
    text = (out / name).read_text()

    assert "leo_retention and empty_batch, invariant by invariant" in text
    assert "log-matching" in text


def test_each_invariant_has_an_exact_interval_under_each_rule_set(out: Path) -> None:
    shown = json.loads((out / "report.json").read_text())["invariants"]
    row = next(one for one in shown if one["name"] == "no-offset-reuse")

    assert [rate["violated"] for rate in row["rates"]] == row["runs"] == [120, 0, 7]
    for rate, runs in zip(row["rates"], (998, 998, 1_000), strict=True):
        assert rate["interval"] == pytest.approx(clopper_pearson(rate["violated"], runs))
    assert (
        "| no-offset-reuse | log divergence | 120 (10.1 to 14.2 %) | 0 (0 to 0.37 %)"
        in (out / "report.md").read_text()
    )


@pytest.mark.parametrize("name", ["report.html", "report.md"])
def test_what_each_rule_set_promises_is_said_if_the_plan_says_it(tmp_path: Path, name: str) -> None:
    folder = both_fixes(tmp_path)
    write_report(folder)
    assert "What is compared" not in (folder / name).read_text()
    plan = json.loads((folder / "plan.json").read_text())
    plan["plan"]["notes"] = ["keeps nothing", "keeps a header", "keeps a record"]
    (folder / "plan.json").write_text(json.dumps(plan))

    write_report(folder)

    text = (folder / name).read_text()
    assert "What is compared" in text
    assert "keeps a header" in text


@pytest.mark.parametrize("name", ["report.html", "report.md"])
def test_errors_and_inconclusive_runs_are_shown(out: Path, name: str) -> None:
    text = (out / name).read_text()

    assert "max_events: 100000" in text
    assert "KeyError:" in text


@pytest.mark.parametrize("name", ["report.html", "report.md"])
def test_a_rate_of_nothing_is_never_written_as_zero_per_cent(out: Path, name: str) -> None:
    text = (out / name).read_text()

    assert "(0 to 0.37 %)" in text
    assert not re.search(r"(?<![\d.,])0(\.0+)?\s%\s\(", text)


def test_the_command_that_made_it_is_there(out: Path) -> None:
    command = "replog sweep 'scenarios/sweeps/a plan.yaml' --count 1000 --seed 280 --out 'a sweep'"

    assert command in (out / "report.md").read_text()
    assert json.loads((out / "report.json").read_text())["command"] == command


@pytest.mark.parametrize("name", FILES)
def test_the_report_names_no_folder_of_this_machine(out: Path, name: str) -> None:
    assert str(out.parent) not in (out / name).read_text()


def test_a_folder_is_named_as_the_user_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both_fixes(tmp_path / "reports" / "mine")
    monkeypatch.chdir(tmp_path)
    write_report(Path("reports/mine"))

    text = (tmp_path / "reports" / "mine" / "report.md").read_text()

    assert "`replog replay reports/mine 33`" in text
    assert "Commands are given from where `reports/mine` is the folder" in text


def test_whoever_has_the_page_alone_has_the_plan(out: Path) -> None:
    [address] = re.findall(
        r'download="plan.json" href="data:application/json;base64,([^"]*)"',
        (out / "report.html").read_text(),
    )

    assert base64.b64decode(address) == (out / "plan.json").read_bytes()


@pytest.mark.parametrize("name", ["report.html", "report.md"])
def test_the_answer_comes_before_any_table(out: Path, name: str) -> None:
    text = (out / name).read_text().replace("\u00a0", " ")
    answer = text.index("Closed under")

    assert answer < text.index("<svg" if name.endswith("html") else "\n|")
    assert answer < text.index("<table" if name.endswith("html") else "\n|")
    assert answer < text.index("<details")
    assert "bytes retained \u00d71.200, empty batches +0.50" in text


def test_every_interval_of_a_pair_is_said_to_be_unadjusted(out: Path) -> None:
    for name in ("report.html", "report.md"):
        text = (out / name).read_text()
        assert text.count("not adjusted") >= 3
        assert "Holm" in text


def test_the_json_has_every_number_of_the_page(out: Path) -> None:
    content = json.loads((out / "report.json").read_text())

    assert content["format"] == "replog-report/1"
    assert [rate["violated"] for rate in content["rates"]] == [120, 0, 7]
    assert content["pairs"][0]["only_left"] == 7
    assert content["costs"][0]["rule_sets"][1]["ratio"] == pytest.approx(1.2)
    assert content["shortest"][0]["runs"][0]["run_id"] == 33


def test_situations_that_never_occurred_are_named(out: Path) -> None:
    reached = json.loads((out / "report.json").read_text())["reached"]

    assert {one["name"] for one in reached} == set(SITUATIONS)
    assert [one["name"] for one in reached if any(one["runs"])] == ["tail-removed"]
    text = (out / "report.html").read_text()
    assert f"{len(SITUATIONS) - 1} of {len(SITUATIONS)} situations" in text


def test_cases_with_other_weather_raise_the_alarm(tmp_path: Path) -> None:
    folder = both_fixes(tmp_path)
    tallies = json.loads((folder / "tallies.json").read_text())
    tallies["pairs"][0]["other_weather"] = 3
    (folder / "tallies.json").write_text(json.dumps(tallies))
    write_report(folder)

    assert "In 3 pairs of runs that was not so" in (folder / "report.html").read_text()
    assert "differ in 3 pairs" in (folder / "report.md").read_text()


def test_one_rule_set_without_any_violation_makes_a_page_too(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, [rule_set(0, "none")], [entry(0, "none", {"holds": 5})], [])

    text = write_report(folder).read_text()

    assert "nothing to compare it with" in text
    assert "No run violated an invariant" in text
    Page(text)


def test_markdown_tables_have_as_many_cells_in_every_row(out: Path) -> None:
    lines = (out / "report.md").read_text().splitlines()

    widths: list[int] = []
    for line in lines:
        if not line.startswith("|"):
            widths = []
            continue
        widths.append(line.replace("\\|", "").count("|"))
        assert len(set(widths)) == 1, line


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    folder = both_fixes(tmp_path)
    (folder / "report.md").mkdir()

    with pytest.raises(BadInput, match=r"report\.md"):
        write_report(folder)
