"""A folder that is not what the sweep wrote is noticed by whoever reads it, and mended."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.report import write_report
from sim.sweeps import digest_of_run, find_run, load_sweep, load_violations
from sim.sweeps.plan import number_runs
from sim.sweeps.runner import run_sweep
from sim.sweeps.storage import LocalStorage
from sim.sweeps.whole import Damage, damage_in, require_whole, state_of
from tests.sweeps.fakes import plan, quick, simulating_here
from tests.sweeps.test_engines import assert_same

SWEEP = number_runs(plan())

pytestmark = pytest.mark.usefixtures("in_this_process")


def sweep_into(out: Path, *, resume: bool = False) -> None:
    run_sweep(plan(), out=out, engine="process", partitions=3, resume=resume, open_case=quick)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of three waves of a block each. Only to be read."""
    out = tmp_path_factory.mktemp("whole") / "out"
    with simulating_here(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sim.sweeps.waves.WAVE_SECONDS", 0.0)
        sweep_into(out)
    return out


@pytest.fixture
def out(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "out"))


def checked(out: Path) -> list[Damage]:
    return damage_in(LocalStorage(out), thorough=True)


def removed(path: Path) -> None:
    path.unlink()


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def changed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def doubled(path: Path) -> None:
    shutil.copy(path, path.with_name(f"{path.stem}1{path.suffix}"))


def linked_away(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nowhere")


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


BREAKING = (removed, truncated, emptied, changed, doubled, linked_away, a_pipe)
PARTS = {
    "runs": "runs/wave=00001/part-*.parquet",
    "violations": "violations/wave=00001/part-*.parquet",
    "digests": "runs/wave=00001/_part-*.digests",
    "manifest": "waves/wave=00001.json",
}
DOCUMENTS = ("finished.json", "tallies.json", "summary.csv")


def breaks(breaking: Callable[[Path], None], out: Path, part: str) -> None:
    (path,) = out.glob(PARTS[part])
    breaking(path)


def test_a_finished_folder_is_whole(whole: Path) -> None:
    state = state_of(LocalStorage(whole), thorough=True)

    assert (state.checked, state.finished, state.damage) == (True, True, ())
    assert (state.runs, state.runs_there, state.waves) == (120, 120, 3)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("breaking", BREAKING)
def test_whatever_happens_to_a_part_is_noticed_by_all_and_mended(
    breaking: Callable[[Path], None], part: str, out: Path, whole: Path
) -> None:
    breaks(breaking, out, part)

    assert checked(out)
    readers = [write_report, loaded]
    if breaking is not changed or part != "violations":  # which a replay does not read
        readers.append(replayed)
    for read in readers:
        with pytest.raises(BadInput, match=r"out/.*: .*--resume of the sweep mends it") as caught:
            read(out)
        assert "\n" not in str(caught.value)


def loaded(out: Path) -> object:
    return load_violations(out), load_sweep(out), digest_of_run(out, 50)


def replayed(out: Path) -> object:
    """What a replay reads of a run in the second wave; the row only where somebody asks for it."""
    return digest_of_run(out, 50), find_run(out, 50)


@pytest.mark.parametrize(
    ("breaking", "part"),
    [*zip(BREAKING, [*PARTS, *PARTS], strict=False), (removed, "manifest")],
)
def test_a_resumed_sweep_is_whole_again(
    breaking: Callable[[Path], None], part: str, out: Path, whole: Path
) -> None:
    breaks(breaking, out, part)

    sweep_into(out, resume=True)

    assert checked(out) == []
    assert_same(out, whole)


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("breaking", [removed, truncated, changed])
def test_documents_that_are_not_what_was_written_are_noticed_and_made_again(
    breaking: Callable[[Path], None], name: str, out: Path, whole: Path
) -> None:
    breaking(out / name)

    state = state_of(LocalStorage(out), thorough=True)
    assert state.damage or not state.finished
    with pytest.raises(BadInput, match="--resume"):
        write_report(out, shrink=False)
    sweep_into(out, resume=True)
    assert checked(out) == []
    assert_same(out, whole)


def halved(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("breaking", [removed, halved, emptied])
def test_a_plan_that_is_gone_or_damaged_is_noticed_and_written_anew(
    breaking: Callable[[Path], None], out: Path, whole: Path
) -> None:
    breaking(out / "plan.json")

    for reading in (checked, loaded, replayed, lambda out: write_report(out, shrink=False)):
        with pytest.raises(BadInput, match=r"plan\.json"):
            reading(out)
    sweep_into(out, resume=True)
    assert checked(out) == []
    assert_same(out, whole)
    assert bool(list(out.glob("set-aside/*/plan.json"))) == (breaking is not removed)


def test_a_plan_that_is_gone_is_not_replaced_by_another_one(out: Path) -> None:
    (out / "plan.json").unlink()
    before = sorted(out.rglob("*"))

    with pytest.raises(BadInput, match=r"no plan\.json"):
        run_sweep(plan(), out=out, seed=8, engine="process", resume=True, open_case=quick)
    with pytest.raises(BadInput, match=r"no plan\.json"):
        sweep_into(out)
    (out / "waves/wave=00000.json").write_text("{}")
    with pytest.raises(BadInput, match=r"no plan\.json"):
        sweep_into(out, resume=True)
    assert [path for path in sorted(out.rglob("*")) if path.name != ".lock"] == [
        path for path in before if path.name != ".lock"
    ]


def test_a_plan_that_is_another_one_now_is_noticed(out: Path) -> None:
    content = json.loads((out / "plan.json").read_text())
    content["plan"]["title"] = "other"
    (out / "plan.json").write_text(json.dumps(content))

    assert checked(out) == [Damage("plan.json", "has other content than was written")]


def test_a_folder_of_a_table_that_is_gone_is_noticed(out: Path) -> None:
    for name in ("runs", "violations", "waves"):
        shutil.rmtree(out / name)

    assert Damage("waves", "cases 0 to 39 are in no wave") in checked(out)
    with pytest.raises(BadInput, match="--resume"):
        digest_of_run(out, 0)


def test_what_is_foreign_is_set_aside_and_not_deleted(out: Path, whole: Path) -> None:
    mine = out / "runs" / "wave=00001" / "mine.parquet"
    mine.write_text("mine")
    (out / "violations" / "wave=00077").mkdir()
    (out / "violations" / "wave=00077" / ".part.draft").write_text("a draft")
    (out / "waves" / "notes").mkdir()
    (out / "waves" / "notes" / "a.json").write_text("{}")
    (out / "notes.txt").write_text("what a user keeps beside the tables")

    assert [one.name for one in checked(out)] == [
        "runs/wave=00001/mine.parquet",
        "violations/wave=00077/.part.draft",
        "waves/notes/a.json",
    ]
    sweep_into(out, resume=True)

    assert checked(out) == []
    (aside,) = (out / "set-aside").iterdir()
    assert (aside / "runs" / "wave=00001" / "mine.parquet").read_text() == "mine"
    assert (aside / "violations" / "wave=00077" / ".part.draft").read_text() == "a draft"
    assert (out / "notes.txt").exists()
    assert_same(out, whole)


def test_a_wave_that_is_copied_does_not_count_twice(out: Path, whole: Path) -> None:
    for name in ("runs", "violations"):
        shutil.copytree(out / name / "wave=00001", out / name / "wave=00009")
    manifest = (out / "waves" / "wave=00001.json").read_text()
    (out / "waves" / "wave=00009.json").write_text(manifest)
    assert Damage("waves/wave=00009.json", "is the manifest of wave 1") in checked(out)

    forged = manifest.replace("wave=00001", "wave=00009").replace('"number": 1', '"number": 9')
    (out / "waves" / "wave=00009.json").write_text(forged)
    assert Damage("waves/wave=00009.json", "holds cases that another wave has, too") in checked(out)

    sweep_into(out, resume=True)
    assert_same(out, whole)


def test_only_the_cases_of_damaged_waves_are_run_again(
    out: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks(changed, out, "runs")
    result = run_sweep(plan(), out=out, engine="process", resume=True, open_case=quick)

    waves = [json.loads(path.read_text())["cases"] for path in whole.glob("waves/*1.json")]
    ((first, end),) = waves[0]
    assert result.runs_before == 120 - 3 * (end - first)


def test_the_waves_of_another_sweep_are_not_this_ones(out: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run_sweep(plan(), out=other, seed=8, engine="process", partitions=1, open_case=quick)
    shutil.copy(other / "waves" / "wave=00000.json", out / "waves" / "wave=00004.json")
    (out / "waves" / "wave=00004.json").write_text(
        (other / "waves" / "wave=00000.json")
        .read_text()
        .replace("wave=00000", "wave=00004")
        .replace('"number": 0', '"number": 4')
    )

    assert Damage("waves/wave=00004.json", "is of another sweep") in checked(out)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"extra": 1}, "unknown field"),
        ({"cases": []}, "holds no cases"),
        ({"cases": [[0, 5], [3, 40]]}, "holds cases twice"),
        ({"cases": [[0, 41]]}, "its parts do not hold its cases"),
        ({"parts": []}, "its parts do not hold its cases"),
        ({"number": -1}, "is the manifest of wave -1"),
    ],
)
def test_a_manifest_that_contradicts_itself_is_none(
    changes: dict[str, object], what: str, out: Path
) -> None:
    path = out / "waves" / "wave=00001.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    found = {one.name: one.what for one in checked(out)}
    assert what in found["waves/wave=00001.json"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("runs/wave=00001/", "../wave=00001/"),
        ("runs/wave=00001/part", "/etc/part"),
        ('"sha256": "', '"sha256": "0'),
        ('"bytes": ', '"bytes": 9999999999'),
        ('"rows": ', '"rows": 1'),
    ],
)
def test_a_part_can_be_nowhere_else_and_has_a_checksum(old: str, new: str, out: Path) -> None:
    path = out / "waves" / "wave=00001.json"
    path.write_text(path.read_text().replace(old, new))

    assert "waves/wave=00001.json" in {one.name for one in checked(out)}
    with pytest.raises(BadInput, match="--resume"):
        find_run(out, 50)


def test_a_table_that_was_written_with_a_row_missing_is_not_counted(out: Path) -> None:
    """Even where every checksum is right."""
    import pyarrow.parquet as pq

    from sim.sweeps.manifest import sha256

    (path,) = out.glob(PARTS["runs"])
    table = pq.read_table(path, partitioning=None)
    before = path.read_bytes()
    pq.write_table(table.slice(1), path)
    manifest = out / "waves" / "wave=00001.json"
    after = path.read_bytes()
    manifest.write_text(
        manifest.read_text()
        .replace(sha256(before), sha256(after))
        .replace(f'"bytes": {len(before)}', f'"bytes": {len(after)}')
    )

    with pytest.raises(BadInput, match=r"rows instead of|where .* should"):
        sweep_into(out, resume=True)


def test_an_interrupted_sweep_is_whole_as_far_as_it_goes_and_can_be_read(out: Path) -> None:
    for name in ("finished.json", "tallies.json", "waves/wave=00002.json"):
        (out / name).unlink()
    for name in ("runs", "violations"):
        shutil.rmtree(out / name / "wave=00002")

    state = state_of(LocalStorage(out), thorough=True)
    assert (state.finished, state.damage) == (False, ())
    assert 0 < len(load_sweep(out)) == state.runs_there < 120
    with pytest.raises(BadInput, match="not finished"):
        write_report(out, shrink=False)


def test_what_a_killed_attempt_was_writing_is_cleared_and_no_damage_meanwhile(
    out: Path, whole: Path
) -> None:
    """As if killed between the parts of a wave and its manifest."""
    draft = out / ".staging" / "attempt" / "waves" / "wave=00002.json"
    draft.parent.mkdir(parents=True)
    (out / "waves" / "wave=00002.json").rename(draft)
    for name in ("finished.json", "tallies.json"):
        (out / name).unlink()
    assert checked(out) == []

    sweep_into(out, resume=True)

    assert not (out / "set-aside").exists()
    assert_same(out, whole)


def test_a_folder_of_the_first_format_is_read_and_cannot_be_checked(out: Path) -> None:
    content = json.loads((out / "plan.json").read_text())
    (out / "plan.json").write_text(json.dumps(content | {"format": "replog-sweep-output/1"}))
    shutil.rmtree(out / "waves")
    (out / "finished.json").unlink()

    assert not state_of(LocalStorage(out), thorough=True).checked
    assert load_sweep(out).run_id.tolist() == list(range(120))
    assert digest_of_run(out, 70) == find_run(out, 70)["digest"]


@pytest.mark.parametrize("name", [*DOCUMENTS[:2], "plan.json"])
def test_a_document_that_is_not_utf_8_is_told_in_a_line(out: Path, name: str) -> None:
    content = (out / name).read_bytes()
    (out / name).write_bytes(content.replace(b"replog-", b"replog\xaa", 1))

    with pytest.raises(BadInput, match=re.escape(name)):
        require_whole(out, thorough=False)
