"""`replog phases`: how likely a failure is over the quantities that decide it."""

import json
from pathlib import Path

from tests.cli.conftest import Replog


def test_it_writes_a_page_a_document_and_a_figure(replog: Replog, here: Path) -> None:
    answer = replog("phases", "compaction_lag", "--cases", "1", "--seed", "5", "--out", ".")

    assert answer.status == 0
    assert answer.out.splitlines()[-1] == "phases.md"
    page = Path("phases.md").read_text(encoding="utf-8")
    assert "`replog phases compaction_lag --cases 1 --seed 5 --out .`" in page
    assert Path("phases_compaction_lag.svg").read_text(encoding="utf-8").startswith("<svg")
    [diagram] = json.loads(Path("phases.json").read_text(encoding="utf-8"))["diagrams"]
    idle_by_append = diagram["happened"][1][0]
    assert idle_by_append == [1, 1, 1, 1, 1]


def test_bad_names_and_folders_are_one_line(replog: Replog, here: Path) -> None:
    answer = replog("phases", "late_writes")
    assert answer.status == 2
    assert "no such diagram: late_writes" in answer.err
    assert "deleted_key, late_write, offset_reuse, compaction_lag" in answer.err

    answer = replog("phases", "--out", "nowhere")
    assert (answer.status, list(here.iterdir())) == (2, [])
    assert "--out nowhere: no such folder" in answer.err
