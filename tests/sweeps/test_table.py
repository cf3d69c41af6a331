"""A folder is what the sweep wrote: it grows; what is damaged, missing or foreign is named."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sim.errors import BadInput
from sim.study.causes import causes_of
from sim.study.report import read_folder
from sim.study.sweep.plan import Sweep
from sim.study.sweep.runner import run_sweep
from sim.study.sweep.table import find_run, state_of
from sim.study.sweep.work import RunCase
from sim.version import Made
from tests.sweeps.fakes import TWO_ENVIRONMENTS, plan, quick, simulating_here
from tests.sweeps.tables import load_sweep, load_violations
from tests.sweeps.test_engines import assert_same, table

CASES = 12
BLOCKS = 4
OTHER = plan(rules={"strategy": "timestamp"})


def swept(out: Path, *, of: object = None, **more: object) -> Path:
    options = {"count": CASES, "partitions": BLOCKS, "engine": "process", "open_case": quick} | more
    with simulating_here():
        run_sweep(of or plan(), out=out, **options)  # type: ignore[arg-type]
    return out


@pytest.fixture(autouse=True, scope="module")
def uncollected() -> Iterator[None]:
    """Garbage is collected when Python likes: nothing is measured here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sim.study.sweep.work.gc.collect", lambda *_: 0)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, uncollected: None) -> Path:
    """A finished sweep, only to be read."""
    return swept(tmp_path_factory.mktemp("whole") / "out")


def blocks(out: Path) -> list[Path]:
    return sorted((out / "runs").glob("*.parquet"))


def other_seed(out: Path) -> None:
    shutil.copy(blocks(swept(out.with_name("other"), seed=8))[1], blocks(out)[1])


def other_rules(out: Path) -> None:
    sets = plan(rule_sets=[{"fix": fix} for fix in ("leo_retention", "none", "empty_batch")])
    shutil.copy(blocks(swept(out.with_name("other"), of=sets))[1], blocks(out)[1])


def renamed(out: Path) -> None:
    table = pq.read_table(blocks(out)[1])
    pq.write_table(table.rename_columns(["x", *table.column_names[1:]]), blocks(out)[1])


def without_a_row(out: Path) -> None:
    table = pq.read_table(blocks(out)[1])
    pq.write_table(table.slice(0, 4), blocks(out)[1])


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut off": (
        lambda out: blocks(out)[1].write_bytes(blocks(out)[1].read_bytes()[:-9]),
        "Parquet",
    ),
    "doubled": (lambda out: shutil.copy(blocks(out)[1], out / "runs/x.parquet"), "holds case 3"),
    "a row missing": (without_a_row, "case 4 is not whole"),
    "another seed's": (other_seed, "is of another sweep, by its seed"),
    "another plan's": (other_rules, "is of another sweep, by its rules"),
    "another column": (renamed, "no column run_id"),
    "no block": (lambda out: (out / "runs/notes.txt").write_text("mine"), "Parquet"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_whoever_reads_the_table_names_what_is_wrong_and_resuming_mends_it(
    whole: Path, tmp_path: Path, what: str
) -> None:
    damage, told = DAMAGE[what]
    out = Path(shutil.copytree(whole, tmp_path / "out"))
    damage(out)

    for read in (
        read_folder,
        load_sweep,
        load_violations,
        causes_of,
        lambda out: find_run(out, 0),
    ):
        with pytest.raises(BadInput, match=rf"out/runs.*{told}.*--resume") as caught:
            read(out)
        assert "\n" not in str(caught.value)
    (found,) = state_of(out, thorough=True).damage.values()
    assert told in found

    swept(out, resume=True)

    assert state_of(out, thorough=True).damage == {}
    assert_same(out, whole)


def test_a_sweep_of_which_cases_are_missing_has_no_report(whole: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "out"))
    blocks(out)[1].unlink()

    with pytest.raises(BadInput, match="not finished, case 3 is missing"):
        read_folder(out)


def test_a_changed_byte_is_found_by_who_reads_the_rows(whole: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "out"))
    content = bytearray(blocks(out)[0].read_bytes())
    group = pq.read_metadata(blocks(out)[0]).row_group(0)
    digests = next(
        one for one in map(group.column, range(group.num_columns)) if one.path_in_schema == "digest"
    )
    content[digests.dictionary_page_offset + digests.total_compressed_size - 3] ^= 0x55
    blocks(out)[0].write_bytes(content)

    assert [*state_of(out, thorough=True).damage] == [f"runs/{blocks(out)[0].name}"]


def test_drafts_of_killed_workers_are_no_rows_and_go(whole: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "out"))
    draft = out / "runs" / f".{blocks(out)[2].name}.7.part"
    blocks(out)[2].rename(draft)
    of_spark = out / "runs/_temporary/0/task_0/part-00000.parquet"
    of_spark.parent.mkdir(parents=True)
    shutil.copy(blocks(out)[0], of_spark)  # which the next job of Spark's would commit
    assert state_of(out).missing == [6, 7, 8]

    swept(out, resume=True)

    assert not draft.exists()
    assert not (out / "runs/_temporary").exists()
    assert_same(out, whole)


def test_a_plan_json_that_is_gone_is_written_anew(whole: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "out"))
    for damaged in (b"{", b'{"\x80eed": 7}'):
        (out / "plan.json").write_bytes(damaged)
        with pytest.raises(BadInput, match=r"plan\.json: is not JSON.*--resume"):
            swept(out, resume=True)
    (out / "plan.json").unlink()
    with pytest.raises(BadInput, match=r"plan\.json"):
        swept(out)
    swept(out, resume=True)
    assert_same(out, whole)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "holds this sweep already; --resume"),
        ({"resume": True, "seed": 8}, "holds another sweep .*seed 7 there, 8 here"),
        ({"resume": True, "count": 5}, "holds another sweep .*count 12 there, 5 here"),
        ({"resume": True, "of": OTHER}, "holds another sweep .*rules"),
        ({"count": 20}, "count 12 there, 20 here"),
    ],
)
def test_another_sweep_is_not_written_into_the_folder(
    whole: Path, more: dict[str, object], told: str
) -> None:
    before = {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()}

    with pytest.raises(BadInput, match=told):
        swept(whole, **more)

    assert {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()} == before


def test_another_version_does_not_go_on(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "out"))
    monkeypatch.setattr("sim.study.sweep.folder.made_by", lambda: Made("9.0", None))

    for count in (CASES, 20):
        with pytest.raises(BadInput, match=r"holds another sweep \(made by .* there, Replog 9.0 "):
            swept(out, resume=True, count=count)


def test_more_cases_are_the_sweep_that_had_them_from_the_start(tmp_path: Path) -> None:
    two = plan(**TWO_ENVIRONMENTS)
    out = swept(tmp_path / "a", of=two, count=10)
    before = {path: path.read_bytes() for path in blocks(out)}

    swept(out, of=two, count=21, resume=True)

    assert_same(out, swept(tmp_path / "b", of=two, count=21))
    assert {path: path.read_bytes() for path in before} == before


def test_who_resumes_goes_on_with_the_count_and_the_seed_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        swept(tmp_path / "a", count=20, seed=9, partitions=10, open_case=_interrupting)

    resumed = swept(tmp_path / "a", count=None, resume=True)

    assert_same(resumed, swept(tmp_path / "b", count=20, seed=9))


def test_a_plan_that_was_given_another_count_since_goes_before_the_folder(tmp_path: Path) -> None:
    swept(tmp_path / "a", of=plan(count=3), count=None)

    assert len(table(swept(tmp_path / "a", of=plan(count=5), count=None, resume=True))) == 15


def _interrupting(sweep: Sweep, case_id: int) -> RunCase:
    if case_id == 15:
        raise KeyboardInterrupt
    return quick(sweep, case_id)
