"""Tags are the kind and the folder of a file and its own words."""

from sim.study.suite import tags_of
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
