"""A report says why runs fail: causes, each with its smallest witness and a picture of it."""

import json
from pathlib import Path

import pytest

from sim.study.report import grids_of, read_folder, write_report
from tests.causes.folders import swept


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = swept(tmp_path_factory.mktemp("report") / "mine", count=1)
    found = read_folder(folder)
    write_report(found, grids_of(found), shrink=True)
    return folder


def test_the_document_has_each_cause_with_its_witness(out: Path) -> None:
    content = json.loads((out / "report.json").read_text())

    causes = content["causes"]
    assert causes["text"] == "1 failing run, 1 cause"
    witness = causes["causes"][0]["witness"]
    assert witness["events"] <= 60
    assert (out / witness["file"]).read_text() == witness["text"]
    assert witness["command"] == f"replog run mine/{witness['file']}"
    assert causes["causes"][0]["example"]["command"] == "replog run mine 1"
    assert content["statistics"]["rule_sets"][1]["shortest"][0]["run_id"] == 1


def test_the_pages_name_the_witness_and_html_draws_it(out: Path) -> None:
    witness = json.loads((out / "report.json").read_text())["causes"]["causes"][0]["witness"]
    page, text = (out / "report.html").read_text(), (out / "report.md").read_text()

    for shown in (page, text):
        assert "1 failing run, 1 cause" in shown
        assert witness["command"] in shown
    assert '<div class="replog-figure">' in page


def test_the_next_report_finds_the_witness_and_has_the_same_bytes(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: (out / name).read_bytes() for name in ("report.json", "report.html")}
    monkeypatch.setattr("sim.study.causes.witnesses.make_witness", None)  # nobody shrinks again

    found = read_folder(out)
    write_report(found, grids_of(found))

    assert {name: (out / name).read_bytes() for name in before} == before
