"""The oracle of traces finds what the checks find, in every scenario file and in random runs."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from sim.check.certify import JUDGED
from tests.bench.certified import Certified, file_runs, random_runs

ROOT = Path(__file__).parents[2]
RANDOM_RUNS = 80
"""Each of ten presets in each of four mixes, plain and harder; a third of the usual length."""


@cache
def random_cases() -> list[Certified]:
    return list(random_runs(RANDOM_RUNS, 1, small=True))


@cache
def files() -> list[Certified]:
    return list(file_runs(ROOT / "scenarios"))


def test_every_scenario_file_is_judged_alike() -> None:
    assert [one.name for one in files() if one.certificate.differing] == []


def test_random_runs_of_every_preset_in_every_mix_are_judged_alike() -> None:
    assert [one.name for one in random_cases() if one.certificate.differing] == []


def test_audits_find_nothing_in_the_random_runs() -> None:
    assert [one.name for one in random_cases() if one.audits] == []


def test_the_random_runs_violate_a_lot_and_some_leave_the_durability_contract() -> None:
    violated = Counter(name for one in random_cases() for name in one.certificate.reported)
    assert len(violated) >= 7
    assert any(one.certificate.left_at is not None for one in random_cases())


@pytest.mark.parametrize("name", JUDGED)
def test_each_law_is_broken_by_some_scenario_file(name: str) -> None:
    assert any(name in one.certificate.found for one in files())
