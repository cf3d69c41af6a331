"""A sweep of several seeds: which case is drawn from which, and what growing leaves as it is."""

import json
from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.report import read_folder
from sim.report.confirmation import confirm
from sim.sweeps.folder import check_folder, read_sweep, write_json, write_plan
from sim.sweeps.plan import number_parts, number_runs
from sim.sweeps.segments import Part
from sim.sweeps.storage import LocalFolder
from tests.report.folders import both_fixes
from tests.sweeps.fakes import TWO_ENVIRONMENTS, plan


def test_a_case_of_a_later_seed_is_the_case_it_is_alone() -> None:
    first, second = number_runs(plan(), count=10, seed=7), number_runs(plan(), count=6, seed=8)

    both = number_parts(plan(), [Part(7, 10), Part(8, 6)])

    alone = [*map(first.case_seed, range(10)), *map(second.case_seed, range(6))]
    assert list(map(both.case_seed, range(16))) == alone
    assert (both.count, both.seed, both.runs) == (16, 7, 48)


def test_environments_go_on_taking_turns_in_a_later_seed() -> None:
    two = plan(**TWO_ENVIRONMENTS)
    alone = number_runs(two, count=4, seed=8)

    both = number_parts(two, [Part(7, 6), Part(8, 4)])

    for case in range(4):
        assert both.environment_of(6 + case) == alone.environment_of(case)
        assert both.case_seed(6 + case) == alone.case_seed(case)
    assert [both.cases_in(number) for number in (0, 1)] == [5, 5]


def test_a_draw_is_whole_before_another_seed_follows() -> None:
    two = plan(**TWO_ENVIRONMENTS)

    with pytest.raises(BadInput, match=r"7 cases.* 2 environments.* needs 8 \(--append --count 8"):
        number_parts(two, [Part(7, 7), Part(8, 4)])
    assert number_parts(two, [Part(7, 8), Part(8, 3)]).count == 11


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([Part(7, 5), Part(8, 5), Part(7, 9)], "seed 7, draw 0: twice"),
        ([Part(7, 5), Part(8, 0)], "count 0: "),
        ([Part(7, 5), Part(2**63, 5)], "a seed is between"),
        ([Part(7, 10**9 - 2), Part(8, 10**8)], "at most 1000000000"),
    ],
)
def test_what_is_no_sweep_is_said(parts: list[Part], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        number_parts(plan(), parts)


def test_plan_json_names_the_seeds_and_one_without_them_has_one(tmp_path: Path) -> None:
    grown = number_parts(plan(), [Part(7, 10), Part(8, 6)])
    write_plan(LocalFolder(tmp_path), grown)
    content = json.loads((tmp_path / "plan.json").read_text())

    assert read_sweep(tmp_path) == grown
    with pytest.raises(BadInput, match=r"segments \[.* there, \[.* here"):
        check_folder(LocalFolder(tmp_path), number_runs(plan(), count=16, seed=7), resume=True)
    del content["segments"]
    write_json(tmp_path / "plan.json", content)
    assert read_sweep(tmp_path) == number_runs(plan(), count=16, seed=7)


@pytest.mark.parametrize(
    "segments",
    [
        [],
        "7",
        [{"seed": 7}],
        [{"seed": 7, "cases": "40"}],
        [{"seed": 7, "cases": 40, "first": 0}],
        [{"seed": 7, "cases": 30}],
        [{"seed": 8, "cases": 40}],
        [{"seed": 7, "cases": 41}, {"seed": 8, "cases": -1}],
        [{"seed": 7, "cases": 20}, {"seed": 7, "cases": 20}],
    ],
)
def test_segments_that_do_not_add_up_are_one_line(tmp_path: Path, segments: object) -> None:
    write_plan(LocalFolder(tmp_path), number_runs(plan()))
    content = json.loads((tmp_path / "plan.json").read_text())
    write_json(tmp_path / "plan.json", content | {"segments": segments})

    with pytest.raises(BadInput, match=r"plan\.json: ") as caught:
        read_sweep(tmp_path)

    assert "\n" not in str(caught.value)


def _with_seeds(out: Path, *parts: Part, confirmation: int | None = None) -> Path:
    """A report's folder that says it was made of these seeds."""
    content = json.loads((both_fixes(out) / "plan.json").read_text())
    content["segments"] = [part._asdict() for part in parts]
    content |= {"count": sum(part.cases for part in parts), "seed": parts[0].seed}
    content["plan"]["confirmation_seed"] = confirmation
    (out / "plan.json").write_text(json.dumps(content))
    return out


def test_a_report_names_the_commands_that_make_the_folder(tmp_path: Path) -> None:
    folder = read_folder(_with_seeds(tmp_path / "o", Part(7, 600), Part(8, 400)))

    first, second = folder.sweep_command.split(" && ")
    assert first.startswith(
        "replog sweep 'scenarios/sweeps/a plan.yaml' --count 600 --seed 7 --out "
    )
    assert " --append --count 400 --seed 8 --out " in second
    assert folder.seeds_text == "seeds 7 (600 cases), 8 (400 cases)"


def test_a_sweep_that_has_the_confirmation_seed_is_not_confirmed_by_it(tmp_path: Path) -> None:
    merged = _with_seeds(tmp_path / "a", Part(7, 500), Part(9, 500), confirmation=9)
    fresh = _with_seeds(tmp_path / "b", Part(9, 1_000), confirmation=9)
    other = _with_seeds(tmp_path / "c", Part(9, 500), Part(10, 500), confirmation=9)
    grown = _with_seeds(tmp_path / "d", Part(7, 500), Part(8, 500), confirmation=9)

    with pytest.raises(BadInput, match="confirmation seed 9 is among its own"):
        confirm(read_folder(merged), read_folder(fresh))
    with pytest.raises(BadInput, match=r"made with seeds 9 .*, 10"):
        confirm(read_folder(grown), read_folder(other))
    found = confirm(read_folder(grown), read_folder(fresh))
    assert (found.development_seeds, found.confirmation_seed) == ((7, 8), 9)
    assert "under seeds 7, 8 and the confirmation seed 9" in found.text
