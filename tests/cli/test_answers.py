"""What commands answer: each ends as it should, with what it should say, and nothing on stderr."""

import shlex
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.commands import SCENARIOS, replog

TABLE = yaml.safe_load(Path(__file__).with_name("answers.yaml").read_text(encoding="utf-8"))


def commands(case: dict[str, Any]) -> list[str]:
    words = case["replog"]
    return [words] if isinstance(words, str) else words


def at(document: Any, path: str) -> Any:
    """The value at a path such as `violations.0.step`."""
    parts = [int(part) if part.isdecimal() else part for part in path.split(".")]
    return reduce(lambda value, part: value[part], parts, document)


@pytest.mark.parametrize(
    "case",
    TABLE["cases"],
    ids=[f"{n}: {commands(one)[-1]}" for n, one in enumerate(TABLE["cases"])],
)
def test_a_command_answers(here: Path, swept: Path, case: dict[str, Any]) -> None:
    for name, text in TABLE["files"].items():
        (here / name).write_text(text)
    for command in commands(case):
        words = command.replace("$SCENARIOS", str(SCENARIOS)).replace("$SWEPT", str(swept))
        answer = replog(*shlex.split(words))

    assert answer.status == case.get("status", 0)
    assert "Traceback" not in answer.err
    assert [words for words in case.get("said", ()) if words not in answer.err] == []
    assert [words for words in case.get("told", ()) if words not in answer.out] == []
    assert [words for words in case.get("not_told", ()) if words in answer.out] == []
    wanted = case.get("json", {})
    assert {path: at(answer.document, path) for path in wanted} == wanted
    for name, words in case.get("made", {}).items():
        made = (here / name).read_text(encoding="utf-8")
        assert [word for word in words if word not in made] == []
