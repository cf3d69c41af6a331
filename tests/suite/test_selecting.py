"""`-k` means what it means to pytest, over paths, ids and tags; tags are read strictly."""

import pytest
from _pytest.mark.expression import Expression  # private: an oracle, and nothing but that
from hypothesis import given
from hypothesis import strategies as st

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
