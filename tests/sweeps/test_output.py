"""The folder of a sweep: who may write into it."""

import errno
import json
import os
from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.sweeps import digest_of_run, find_run, load_sweep
from sim.sweeps.output import clear_errors, read_sweep, write_json
from sim.sweeps.plan import number_runs
from sim.sweeps.runner import run_sweep
from sim.sweeps.storage import LocalStorage
from tests.sweeps.fakes import plan, quick
from tests.sweeps.folders import check_folder, prepare_folder

SWEEP = number_runs(plan())

pytestmark = pytest.mark.usefixtures("in_this_process")


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

    with pytest.raises(BadInput, match="120 of 120 runs missing; --resume"):
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

    with pytest.raises(BadInput, match=r"plan\.json: is not JSON"):
        read_sweep(tmp_path)


@pytest.mark.parametrize(
    "name", ["plan.json", ".parquet", ".digests", "wave=00000.json", "tallies.json", "summary.csv"]
)
def test_a_full_disk_is_one_line_and_the_sweep_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    written = LocalStorage.write

    def full(storage: LocalStorage, file: str, content: bytes) -> None:
        if file.endswith(name):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), file)
        written(storage, file, content)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "write", full)
        with pytest.raises(BadInput, match="no space left on the disk") as caught:
            run_sweep(plan(), out=tmp_path / "out", engine="process", open_case=quick)

    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out" / ".staging").exists()
    if name in (".digests", "wave=00000.json"):  # its neighbours were written; they went with it
        assert not list(tmp_path.glob("out/*/wave=*/*"))
    run_sweep(plan(), out=tmp_path / "out", engine="process", resume=True, open_case=quick)
    assert load_sweep(tmp_path / "out").run_id.tolist() == list(range(SWEEP.runs))


def test_the_digest_of_every_run_is_that_of_its_row(tmp_path: Path) -> None:
    run_sweep(plan(), out=tmp_path, engine="process", partitions=3, open_case=quick)

    rows = [find_run(tmp_path, run_id) for run_id in range(SWEEP.runs)]
    assert [digest_of_run(tmp_path, row["run_id"]) for row in rows] == [r["digest"] for r in rows]
    assert {row["digest"] is None for row in rows} == {True, False}


def test_a_folder_of_the_version_before_is_read_and_not_continued(tmp_path: Path) -> None:
    prepare_folder(tmp_path, SWEEP)
    content = json.loads((tmp_path / "plan.json").read_text())
    write_json(tmp_path / "plan.json", content | {"schema_version": 2})

    assert read_sweep(tmp_path).count == SWEEP.count
    with pytest.raises(BadInput, match="schema_version 2 there, 4 here"):
        check_folder(tmp_path, SWEEP, resume=True)


def test_a_folder_of_no_known_version_is_one_line(tmp_path: Path) -> None:
    prepare_folder(tmp_path, SWEEP)
    content = json.loads((tmp_path / "plan.json").read_text())
    write_json(tmp_path / "plan.json", content | {"schema_version": 1})

    with pytest.raises(BadInput, match="this version of Replog reads 2 and 3"):
        read_sweep(tmp_path)


def test_a_java_machine_that_is_gone_is_one_line_about_it(tmp_path: Path) -> None:
    gone = r"Java machine is gone; .* --resume continues"
    with pytest.raises(BadInput, match=gone), clear_errors(tmp_path):
        raise ConnectionRefusedError(111, "Connection refused")
