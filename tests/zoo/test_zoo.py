"""Planted defects have their place in the source, and are told by something."""

from pathlib import Path

import pytest

import sim
from tests.zoo.draws import draws
from tests.zoo.kept import Result, read, write
from tests.zoo.page import page
from tests.zoo.planted import DEFECTS, NEWEST, OF_LOGS, Planted
from tests.zoo.trying import Base, run_random, run_suite

BY_NAME = {one.name: one for one in DEFECTS}


def test_every_defect_has_its_place_in_the_source() -> None:
    sources = {one: (Path(sim.__file__).parent / one.module).read_text() for one in DEFECTS}

    assert len(BY_NAME) == len(DEFECTS)
    assert sum(one.group != OF_LOGS for one in DEFECTS) >= 80
    for one, source in sources.items():
        assert one.plant(source) != source
        compile(one.plant(source), one.module, "exec")


def test_half_of_the_newest_series_is_judged_and_nothing_that_was_looked_at() -> None:
    newest = [one for one in DEFECTS if one.series == NEWEST]

    assert 0.3 < sum(one.judged for one in newest) / len(newest) < 0.6
    assert not any(one.judged for one in DEFECTS if one.series < NEWEST)


@pytest.mark.parametrize(
    ("name", "invariant"),
    [("no-version-is-version-zero", None), ("laggard-that-deletes-reported", "tombstone-safety")],
)
def test_the_suite_tells_a_planted_defect(name: str, invariant: str | None) -> None:
    result = Result("")
    run_suite(BY_NAME[name], result, "kip630")

    assert (result.suite or {}).get("invariant") == invariant


def test_random_runs_end_with_the_one_that_tells_a_planted_defect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.zoo.trying.BASE", tmp_path)
    result, base = Result(""), Base(["replication"])
    error = BY_NAME["acknowledged-one-early"]
    run_random(error, result, base, 6)

    assert (result.tries, result.found, result.first) == (1, 1, 1)
    assert "acknowledged-committed" in result.by

    for count in (2, 6, 6):
        run_random(error, result, base, count, to_the_end=True)

    assert result.tries == 6
    assert set(result.runs) == {"replication/plain", "replication/hunted"}


def test_runs_take_turns_in_the_environments_and_the_rule_sets() -> None:
    first = list(draws(12, ["replication", "cures", "far"]))

    assert [str(one.environment) for one in first[1:9:2]] == [
        "replication/plain",
        "replication/hunted",
        "cures/plain",
        "cures/hunted",
    ]
    assert [one.environment.name for one in first[:10:2]] == [
        *("drawn", "late", "elections", "lost_disks", "drawn")
    ]
    assert [(one.case, one.rule_set) for one in first[1::8]] == [(0, 0), (2, 1)]
    assert [(one.case, one.rule_set) for one in first[3::8]] == [(1, 1), (3, 2)]


def test_what_was_found_is_kept(tmp_path: Path) -> None:
    result = Result("code", suite={}, touched=1, first=3, test="")
    result.runs.update({"a/b": 20})
    result.shown.update({"a/b": 2})
    path = tmp_path / "kept.json"
    write(path, {DEFECTS[0].name: result})

    assert read(path) == {DEFECTS[0].name: result}
    assert result.median() == 7
    assert DEFECTS[0].what in page(read(path))


def test_a_defect_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match=r"x\.py has 0 places for gone: nothing"):
        Planted("gone", "log", "nothing", "x.py", "right\n", "wrong\n").plant("other\n")
