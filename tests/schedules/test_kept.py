"""A search that was stopped in the middle goes on behind its last level."""

from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.study.explore import levels
from sim.study.explore.levels import KeptLevels
from sim.study.explore.search import Search, Searched
from sim.study.explore.witness import schedule_of
from tests.schedules.test_engines import BOTH, ONE


def found(search: Search) -> dict[tuple[int, str], object]:
    """What is broken, with its schedule."""
    return {key: (tuple(one), schedule_of(search, one)) for key, one in search.found.items()}


def stopped(searched: Searched, folder: Path, depth: int) -> None:
    """Search, and keep each level, until that of a depth is there."""
    search = searched.search()
    for _level in search.levels(depth):
        KeptLevels(folder, searched).write(search)


@pytest.mark.parametrize("searched", [ONE, BOTH])
@pytest.mark.parametrize("depth", [1, 6])
def test_a_search_goes_on_where_it_was_stopped(
    searched: Searched, depth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = searched.search()
    levels_of_whole = [*whole.levels()]
    stopped(searched, tmp_path, depth)

    again = searched.search()
    KeptLevels(tmp_path, searched).take_up(again)
    assert len(again.done) == depth + 1
    assert [*again.levels()] == levels_of_whole[depth + 1 :]

    assert again.done == whole.done
    assert again.exhausted
    assert found(again) == found(whole)


def test_levels_that_other_code_made_are_of_another_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(ONE, tmp_path, 2)
    monkeypatch.setattr(levels, "made_by", lambda: "another")

    again = ONE.search()
    KeptLevels(tmp_path, ONE).take_up(again)
    assert again.done == []


def test_a_level_that_is_damaged_is_one_line(tmp_path: Path) -> None:
    stopped(ONE, tmp_path, 2)
    (file, *_) = tmp_path.glob("*/001.npz")
    file.write_bytes(file.read_bytes()[:-200])

    with pytest.raises(BadInput, match=r"001\.npz: cannot be gone on with: .*begin anew"):
        KeptLevels(tmp_path, ONE).take_up(ONE.search())
