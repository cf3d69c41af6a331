"""Everything that is wrong with a file is told in one go, its format too."""

from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.study.suite import load_case, run_any

SCENARIO = """\
format: replog-scenari/1
seeed: 3
tags: [not a tag]
faults: [{at: 1, crush: r1}]
"""
STORY = "format: replog-stry/1\nreplicas: [r1]\nstepps: []\n"
LOG = '{"format": "replog-lg/1",\n"segments": [[]],\n"stepps": []}\n'


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.yaml", SCENARIO, ["1: format", "2: seeed", "3: tags[0]", "4: faults[0].crush"]),
        (
            "a.yaml",
            SCENARIO.replace("ri/1", "rio/1"),
            ["2: seeed", "3: tags", "4: faults[0].crush"],
        ),
        ("a.yaml", STORY, ["1: format", "3: stepps"]),
        ("a.json", LOG, ["1: format", "1: steps", "3: stepps"]),
        ("a.yaml", "format: sceneries/1\nseeed: 3\n", ["1: format"]),
    ],
)
def test_a_misspelt_format_and_what_else_is_misspelt_are_told_together(
    tmp_path: Path, name: str, text: str, lines: list[str]
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        load_case(path)
    told = caught.value.args

    assert len(told) == len(lines)
    assert all(one.startswith(f"{path}:{line}") for one, line in zip(told, lines, strict=True))
    assert str(run_any(path).reason).splitlines() == list(told)
