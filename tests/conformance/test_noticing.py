"""Errors that are planted in a copy of the product are noticed by logs that show them."""

from pathlib import Path

import pytest

import sim
from tests.conformance.compare import replog_answer
from tests.conformance.noticing import KeptLogs, Noticed, notice
from tests.conformance.planted import PLANTED, Planted
from tests.conformance.random_runs import Agreed

LOG = {
    "format": "replog-log/1",
    "segments": [[{"base_offset": 0, "last_offset": 0, "records": [{"offset": 0, "value": "v"}]}]],
    "steps": [
        {"op": "roll"},
        {"op": "clean", "now_ms": 0, "first_dirty_offset": 0, "upper_bound": 1},
    ],
}
"""A record without a key."""

STAYS = next(error for error in PLANTED if error.what == "records without a key stay")
HARMLESS = Planted("the docstring is another one", STAYS.module, "The copying half", "The half")


@pytest.fixture
def kept(tmp_path: Path) -> KeptLogs:
    kept = KeptLogs(tmp_path / "logs.jsonl")
    other = {**LOG, "steps": LOG["steps"][:1]}
    for document in (other, LOG):
        kept.add(Agreed(document, replog_answer(document), frozenset()))
    kept.close()
    return kept


@pytest.fixture
def logs(kept: KeptLogs) -> Path:
    return kept.path


def test_the_first_log_that_shows_an_error_notices_it(logs: Path) -> None:
    said: list[Noticed] = []
    wrong, harmless = notice(logs, (STAYS, HARMLESS), progress=said.append)

    assert wrong.log == 2
    assert "record_offsets: Replog says [0], Kafka says []" in wrong.difference
    assert (harmless.log, harmless.difference) == (None, "")
    assert {one.error for one in said} == {STAYS, HARMLESS}


def test_an_exception_is_noticed_by_the_log_that_meets_it(logs: Path) -> None:
    raises = STAYS._replace(wrong="        if record.key is None:\n            1 / 0\n")
    (noticed,) = notice(logs, (raises,))

    assert noticed.log == 2
    assert "ZeroDivisionError" in noticed.difference


def test_a_copy_that_does_not_even_start_shows_nothing(logs: Path) -> None:
    with pytest.raises(ValueError, match=r"docstring is another one does not start: SyntaxError"):
        notice(logs, (HARMLESS._replace(wrong='"""The half'),))


def test_logs_that_notice_can_be_taken_out_once_each(kept: KeptLogs) -> None:
    first, second = Noticed(STAYS, 2, ""), Noticed(HARMLESS, None, "")

    (case,) = kept.those_that_notice([first, first, second])

    assert case.document == LOG
    assert case.kafka == replog_answer(LOG)


@pytest.mark.parametrize("error", PLANTED, ids=lambda error: error.what)
def test_every_error_has_its_place_in_the_source(error: Planted) -> None:
    source = (Path(sim.__file__).parent / error.module).read_text()

    assert error.plant(source) != source


def test_an_error_without_its_place_is_refused() -> None:
    with pytest.raises(ValueError, match="has 0 places for: the docstring"):
        HARMLESS.plant("")


def test_errors_are_told_apart() -> None:
    assert len({error.what for error in PLANTED}) == len(PLANTED) >= 30
