"""`-k` means what it means to pytest, over paths, ids and tags; tags are read strictly."""

from pathlib import Path

import pytest
from _pytest.mark.expression import Expression  # private: an oracle, and nothing but that
from hypothesis import given
from hypothesis import strategies as st

from sim import load
from sim.errors import BadInput
from sim.study.suite import collect
from sim.study.suite.cases import chooser, names_of, select, tags_of
from tests.suite.conftest import GOOD, Fill

WORDS = ("kip280", "raft", "KIP", "280-b", "s/x.yaml", "a_1", "notes", "android", "_2")
WORD = st.sampled_from(WORDS)
EXPRESSIONS = st.recursive(
    WORD,
    lambda part: st.one_of(
        part.map(lambda one: f"not {one}"),
        part.map(lambda one: f"({one})"),
        st.tuples(part, st.sampled_from(["and", "or"]), part).map(" ".join),
    ),
    max_leaves=6,
)


@given(EXPRESSIONS, st.lists(WORD, max_size=3))
def test_an_expression_means_what_it_means_to_pytest(expression: str, names: list[str]) -> None:
    def has(word: str, /, **_arguments: object) -> bool:
        return any(word.lower() in name.lower() for name in names)

    assert chooser(expression)(names) == Expression.compile(expression).evaluate(has)


@pytest.mark.parametrize(
    "expression",
    ["", "  ", "a b", "and a", "a and", "not", "(a", "a)", "()", "a & b", "a, b", "x(1)", "(a)(b)"],
)
def test_what_is_no_expression_is_one_line(expression: str) -> None:
    with pytest.raises(BadInput) as refused:
        chooser(expression)

    assert str(refused.value).startswith(f"-k {expression.strip()}: cannot be read")
    assert "\n" not in str(refused.value)


def test_a_file_goes_by_its_path_its_id_its_kind_its_folder_and_its_own_tags(fill: Fill) -> None:
    folder = fill(
        {
            "raft/a.yaml": GOOD + "id: first\ntags: [slow, kip-534]\n",
            "b.yaml": "format: replog-scenario/1\ntags: [slow]\n",
            "c.json": '{"format": "replog-log/1", "tags": ["s"]}',
        }
    )

    assert names_of(folder / "raft/a.yaml") == (
        "s/raft/a.yaml",
        "first",
        "story",
        "raft",
        "slow",
        "kip-534",
    )
    assert tags_of(folder / "b.yaml") == ("timed", "s", "slow")
    assert tags_of(folder / "c.json") == ("log", "s")


def test_the_files_that_are_meant_are_chosen_in_their_order(fill: Fill) -> None:
    files = {"b.yaml": GOOD + "tags: [slow]\n", "a.yaml": GOOD, "c.yaml": GOOD + "id: raft_x\n"}
    found = collect([fill(files)])

    def chosen(expression: str) -> list[str]:
        return [path.stem for path in select(found, expression).files]

    assert chosen("story") == ["a", "b", "c"]
    assert chosen("SLOW or raft") == ["b", "c"]
    assert chosen("not slow") == ["a", "c"]
    assert chosen("s/a") == ["a"]
    with pytest.raises(BadInput, match=r"^-k kip354: means none of 3 scenario files$"):
        chosen("kip354")


def test_a_file_that_cannot_be_read_goes_by_its_path(fill: Fill) -> None:
    files = {"a.yaml": GOOD, "b.yaml": "format: replog-sory/1\n", "c.yaml": GOOD + "tags: [a b]\n"}
    found = collect([fill(files)])

    def chosen(expression: str) -> list[str]:
        return [path.stem for path in select(found, expression).files]

    assert chosen("s/a") == ["a"]
    assert chosen("s/b or s/c") == ["b", "c"]
    assert chosen("not s/a") == ["b", "c"]


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

    from sim.study.suite.cases import run_suite

    (result,) = run_suite(collect([folder]))

    assert result.verdict == "bad input"
    assert 'tags[1]: "a b" is no tag' in str(result.reason)
