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
