"""The folder of a sweep: who may write into it."""

import json
from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.sweeps import digest_of_run, find_run, load_sweep
from sim.sweeps.layout import waves_of
from sim.sweeps.output import check_folder, prepare_folder, read_sweep, write_json
from sim.sweeps.plan import number_runs
from sim.sweeps.runner import run_sweep
from tests.sweeps.fakes import full, plan, quick

SWEEP = number_runs(plan())


def test_a_new_or_an_empty_folder_is_taken(tmp_path: Path) -> None:
    check_folder(tmp_path, SWEEP, resume=False)
    check_folder(tmp_path / "new" / "er", SWEEP, resume=True)

    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_else_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()

    for resume in (False, True):
        with pytest.raises(BadInput, match=r"thesis\.tex"):
            run_sweep(plan(), out=tmp_path, engine="process", resume=resume, open_case=quick)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"count": 41}, "count 40 there, 41 here"),
        ({"seed": 8}, "seed 7 there, 8 here"),
        ({"rules": {}}, 'rules {"strategy": "header"} there, {} here'),
        ({"rule_sets": [{"fix": "none"}]}, "rule_sets"),
        ({"generate": {"mix": "reference", "duration_ms": 5}}, "generate"),
    ],
)
def test_another_sweep_is_refused_and_told_in_what_it_differs(
    tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    prepare_folder(tmp_path, SWEEP)

    with pytest.raises(BadInput) as caught:
        check_folder(tmp_path, number_runs(plan(**changes)), resume=True)

    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_version_of_the_package_is_another_sweep(tmp_path: Path) -> None:
    prepare_folder(tmp_path, SWEEP)
    content = json.loads((tmp_path / "plan.json").read_text())
    write_json(tmp_path / "plan.json", content | {"package_version": "0.0.0"})

    with pytest.raises(BadInput, match="package_version"):
        check_folder(tmp_path, SWEEP, resume=True)


def test_a_new_title_is_no_other_sweep(tmp_path: Path) -> None:
    prepare_folder(tmp_path, SWEEP)

    check_folder(tmp_path, number_runs(plan(title="a better one")), resume=True)


def test_the_same_sweep_is_continued_only_when_asked(tmp_path: Path) -> None:
    prepare_folder(tmp_path, SWEEP)

    with pytest.raises(BadInput, match="1 of 1 waves missing; --resume"):
        check_folder(tmp_path, SWEEP, resume=False)


def test_plan_json_is_enough_to_make_the_sweep_again(tmp_path: Path) -> None:
    swept = plan(generate={"mix": "reference", "sends": [5, 9]}, rules={"preset": "kraft"})
    prepare_folder(tmp_path, number_runs(swept, count=9, seed=2**63 - 1))

    assert read_sweep(tmp_path) == number_runs(swept, count=9, seed=2**63 - 1)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").touch()

    for out in (tmp_path / "out", tmp_path / "out" / "deeper"):
        with pytest.raises(BadInput):
            run_sweep(plan(), out=out, engine="process", open_case=quick)


@pytest.mark.parametrize("read", [read_sweep, load_sweep, lambda out: find_run(out, 0)])
def test_a_folder_without_a_sweep_cannot_be_read(tmp_path: Path, read: object) -> None:
    with pytest.raises(BadInput, match=r"plan\.json"):
        read(tmp_path)  # type: ignore[operator]


def test_a_wave_that_was_not_run_is_said_so(tmp_path: Path) -> None:
    prepare_folder(tmp_path, SWEEP)

    with pytest.raises(BadInput, match="--resume"):
        find_run(tmp_path, 3)
    with pytest.raises(BadInput, match="runs 0 to 119"):
        find_run(tmp_path, 120)
    with pytest.raises(BadInput, match="--resume"):
        load_sweep(tmp_path)


def test_a_damaged_plan_is_one_line(tmp_path: Path) -> None:
    prepare_folder(tmp_path, SWEEP)
    (tmp_path / "plan.json").write_text('{"format": "replog-sweep-output/1", "schema')

    with pytest.raises(BadInput, match="not readable"):
        read_sweep(tmp_path)


def test_a_full_disk_is_one_line_and_leaves_no_rows(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no space left on the disk") as caught:
        run_sweep(plan(), out=tmp_path / "out", engine="process", open_case=full)

    assert "\n" not in str(caught.value)
    assert list((tmp_path / "out" / "runs").iterdir()) == []
    assert not (tmp_path / "out" / ".staging").exists()


def test_folders_of_waves_are_in_the_order_that_of_the_cases() -> None:
    names = [wave.folder_name for wave in waves_of(number_runs(plan(), count=100_000))]

    assert names == sorted(names)


def test_the_digest_of_every_run_is_that_of_its_row(tmp_path: Path) -> None:
    run_sweep(plan(), out=tmp_path, engine="process", partitions=3, open_case=quick)

    rows = [find_run(tmp_path, run_id) for run_id in range(SWEEP.runs)]
    assert [digest_of_run(tmp_path, row["run_id"]) for row in rows] == [r["digest"] for r in rows]
    assert {row["digest"] is None for row in rows} == {True, False}


def test_a_digest_is_read_from_the_row_where_the_line_of_its_own_is_missing(tmp_path: Path) -> None:
    run_sweep(plan(), out=tmp_path, engine="process", partitions=1, open_case=quick)
    (lines,) = tmp_path.glob("runs/*/_*.digests")
    first, last = find_run(tmp_path, 0)["digest"], find_run(tmp_path, SWEEP.runs - 1)["digest"]

    lines.write_bytes(lines.read_bytes()[:-1])
    assert digest_of_run(tmp_path, SWEEP.runs - 1) == last
    lines.unlink()
    assert digest_of_run(tmp_path, 0) == first


def test_a_folder_of_the_version_before_is_read_and_not_continued(tmp_path: Path) -> None:
    prepare_folder(tmp_path, SWEEP)
    content = json.loads((tmp_path / "plan.json").read_text())
    write_json(tmp_path / "plan.json", content | {"schema_version": 2})

    assert read_sweep(tmp_path).count == SWEEP.count
    with pytest.raises(BadInput, match="schema_version 2 there, 3 here"):
        check_folder(tmp_path, SWEEP, resume=True)


def test_a_folder_of_no_known_version_is_one_line(tmp_path: Path) -> None:
    prepare_folder(tmp_path, SWEEP)
    content = json.loads((tmp_path / "plan.json").read_text())
    write_json(tmp_path / "plan.json", content | {"schema_version": 1})

    with pytest.raises(BadInput, match="this version of Replog reads 2 and 3"):
        read_sweep(tmp_path)
