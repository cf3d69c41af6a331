"""Planted defects have their place in the source, and are detected by something."""

from pathlib import Path

import pytest

from tests.zoo.detecting import Detectors, failed_test
from tests.zoo.draws import Draw, draws
from tests.zoo.page import page
from tests.zoo.planted import CLASSES, DEFECTS, OF_LOGS, UNDETECTED, Planted
from tests.zoo.results import Result, read, write


@pytest.fixture
def detectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Detectors:
    monkeypatch.setattr("tests.zoo.detecting.RIGHT", tmp_path)
    return Detectors()


def test_every_defect_has_its_place_in_the_source() -> None:
    assert sum(one.group != OF_LOGS for one in DEFECTS.values()) >= 80
    for one in DEFECTS.values():
        compile(one.source(), one.module, "exec")


def test_each_defect_that_nothing_detects_has_its_class() -> None:
    results = read(Path(__file__).parents[2] / "reports/zoo.json")

    assert {said.kind for said in UNDETECTED.values()} <= CLASSES.keys()
    assert {*UNDETECTED} == {name for name, result in results.items() if not result.detected}


def test_a_defect_is_detected_by_the_file_that_detected_it_last_time(detectors: Detectors) -> None:
    error = DEFECTS["laggard-that-deletes-reported"]
    detects, agrees = "kip630/kip630_17_lagging_log_deletes_the_key_itself.yaml", "kip630/no_more"
    known = Result("", suite={"file": detects})
    detectors.prepare([known, Result("", suite={"file": agrees})])

    assert detectors.detects_again(error, known)
    assert not detectors.detects_again(error, Result("", suite={"file": agrees}))
    assert detectors.suite(error, detects)["invariant"] == "tombstone-safety"


def test_random_runs_end_with_the_one_that_shows_a_defect(detectors: Detectors) -> None:
    error = DEFECTS["acknowledged-one-early"]
    result = Result("")
    detectors.random(error, result, [*draws(6, ["replication"])])

    assert (result.tries, result.environment) == (1, "replication/plain")
    assert "acknowledged-committed" in result.by
    assert detectors.detects_again(error, result)
    assert not detectors.detects_again(error, Result("", run="no-plan-any-more 0 0"))


def test_a_test_that_fails_detects_a_defect() -> None:
    error = DEFECTS["zombie-in-the-core"]

    assert failed_test(error, "tests/replication/test_elections.py")
    assert not failed_test(error, "tests/zoo/test_zoo.py::test_what_was_found_is_kept")


def test_runs_take_turns_in_the_environments_and_the_rule_sets() -> None:
    first = list(draws(12, ["replication", "cures", "far"]))

    assert [one.environment for one in first[1:9:2]] == [
        "replication/plain",
        "replication/hunted",
        "cures/plain",
        "cures/hunted",
    ]
    assert [one.environment.removeprefix("far/") for one in first[:10:2]] == [
        *("drawn", "late", "elections", "lost_disks", "drawn")
    ]
    assert [(one.case, one.rule_set) for one in first[1::8]] == [(0, 0), (2, 1)]
    assert [(one.case, one.rule_set) for one in first[3::8]] == [(1, 1), (3, 2)]
    assert all(Draw.named(one.id) == one for one in first)


def test_what_was_found_is_kept(tmp_path: Path) -> None:
    defect = next(iter(DEFECTS.values()))
    result = Result("code", tries=3, touched=1, run="far 2 0", environment="a/b", by=["x"])
    path = tmp_path / "kept.json"
    write(path, {defect.name: result})

    assert read(path) == {defect.name: result}
    assert "| 1 of 1 (100%) |" not in page({})
    assert "| 1 of 1 (100%) |" in page(read(path))


def test_a_defect_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match=r"__init__\.py has 0 places for gone: nothing"):
        Planted("gone", "log", "nothing", "__init__.py", "no such line\n", "wrong\n").source()
