"""Tags are the kind and the folder of a file and its own words, which are read strictly."""

from pathlib import Path

import pytest

from sim import load
from sim.errors import BadInput
from sim.study.suite import collect
from sim.study.suite.cases import run_suite, tags_of
from tests.suite.conftest import GOOD, Fill


def test_tags_are_the_kind_the_folder_and_the_words_of_a_file(fill: Fill) -> None:
    folder = fill(
        {
            "raft/a.yaml": GOOD + "id: first\ntags: [slow, kip-534]\n",
            "b.yaml": "format: replog-scenario/1\ntags: [slow]\n",
            "c.json": '{"format": "replog-log/1", "tags": ["s"]}',
        }
    )

    assert tags_of(folder / "raft/a.yaml") == ("story", "raft", "slow", "kip-534")
    assert tags_of(folder / "b.yaml") == ("timed", "s", "slow")
    assert tags_of(folder / "c.json") == ("log", "s")


@pytest.mark.parametrize(
    ("tags", "wrong"),
    [
        ("slow", ': tags: expected a list, not "slow"'),
        ("[a, 1]", ": tags[1]: "),
        ("[a b]", ': tags[0]: "a b" is no tag; allowed'),
        ("[Not]", ': tags[0]: "Not" is no tag; allowed'),
        ("[-x]", ': tags[0]: "-x" is no tag; allowed'),
        ("['x\n\n ']", r': tags[0]: "x\n" is no tag; allowed'),
        ("[a, b, a]", ': tags: "a" is given twice'),
    ],
)
@pytest.mark.parametrize("kind", ["story", "scenario"])
def test_tags_are_words_in_every_format(fill: Fill, kind: str, tags: str, wrong: str) -> None:
    text = GOOD if kind == "story" else "format: replog-scenario/1\nduration_ms: 300\n"
    path = fill({"x.yaml": f"{text}tags: {tags}\n"}) / "x.yaml"

    with pytest.raises(BadInput) as refused:
        load(path)

    assert wrong in str(refused.value)


@pytest.mark.parametrize("name", ["kip280/log_late_version_azure", "kip354/eligible_ratio_zero"])
def test_tags_of_log_files_are_read_as_strictly(fill: Fill, name: str) -> None:
    text = (Path(__file__).parents[2] / f"scenarios/{name}.json").read_text()
    folder = fill({"x.json": text.replace("{", '{"tags": ["slow", "a b"],', 1)})

    (result,) = run_suite(collect([folder]))

    assert result.verdict == "bad input"
    assert 'tags[1]: "a b" is no tag' in str(result.reason)
