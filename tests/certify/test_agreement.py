"""The oracle of traces finds what the checks find, in every scenario file and in random runs."""

from pathlib import Path

from sim.check.certify import JUDGED
from tests.bench.certified import file_runs, random_runs

ROOT = Path(__file__).parents[2]
RANDOM_RUNS = 80
"""Each of ten presets in each of four mixes, plain and harder; a third of the usual length."""


def test_every_scenario_file_is_judged_alike() -> None:
    """And each law is broken by some file."""
    files = list(file_runs(ROOT / "scenarios"))
    assert [one.name for one in files if one.certificate.differing] == []
    assert {*JUDGED} <= {name for one in files for name in one.certificate.found}


def test_random_runs_of_every_preset_in_every_mix_are_judged_alike_and_audits_find_nothing() -> (
    None
):
    """They violate a lot, and some leave the durability contract."""
    cases = list(random_runs(RANDOM_RUNS, 1, small=True))
    assert [one.name for one in cases if one.certificate.differing] == []
    assert [one.name for one in cases if one.audits] == []
    assert len({name for one in cases for name in one.certificate.reported}) >= 7
    assert any(one.certificate.left_at is not None for one in cases)
