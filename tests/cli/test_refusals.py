"""Bad input is one clear line on stderr and exit status 2, and nothing is written."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import PLAN
from tests.commands import SCENARIOS, replog
from tests.logfile.many_logs import document
from tests.logfile.writer import Writer

REFUSED = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8"))
STORY = "format: replog-story/1\nreplicas: [r1, r2]\nsteps:\n  - elect r1 1\n"
TIMED = "format: replog-scenario/1\nduration_ms: 500\n"


def log_file() -> dict[str, Any]:
    """A log file of eight steps with the keys k and a."""
    written = Writer({"preset": "kafka-4.0"})
    written.data("k=1", "k", "a=1")
    for _ in range(8):
        written.step("roll")
    return written.document()


FILES = {
    "x.yaml": TIMED,
    "s.yaml": STORY,
    "s.svg": STORY,
    "plan.yaml": PLAN,
    "full/letter.txt": "",
    "stories/x.yaml": "format: replog-story/1\n",
    "s/a.yaml": TIMED,
    "case.json": json.dumps(log_file()),
    "wrong.json": json.dumps(log_file() | {"expect": []}),
    "logs.json": json.dumps(document()),
    "bad.json": json.dumps(
        {
            "format": "replog-log/1",
            "segments": [[{"base_offset": 2, "last_offset": 1, "records": []}]],
            "steps": [],
        }
    ),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files of every kind, good and bad, and an empty folder."""
    folder = tmp_path_factory.mktemp("files")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "empty").mkdir()
    (folder / "link.yaml").symlink_to("s.yaml")
    return folder


@pytest.mark.parametrize(
    "case", REFUSED, ids=[f"{number}: {case['replog']}" for number, case in enumerate(REFUSED)]
)
def test_what_cannot_be_done_is_said_in_one_line(
    files: Path, swept: Path, monkeypatch: pytest.MonkeyPatch, case: dict[str, Any]
) -> None:
    monkeypatch.chdir(files)
    Path("x.yaml").write_text(case.get("file", TIMED))
    words = case["replog"].replace("$SCENARIOS", str(SCENARIOS)).replace("$SWEPT", str(swept))

    def seen() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for at in (files, swept) for path in at.rglob("*")}

    before = seen()

    answer = replog(*shlex.split(words))

    assert answer.status == 2
    assert [word for word in case["told"] if word not in answer.complaint] == []
    assert seen() == before
