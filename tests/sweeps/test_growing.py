"""Sweeps that grow to more cases: what comes out, and what is refused."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sim.study.sweep.plan import Sweep
from sim.study.sweep.runner import run_sweep
from sim.study.sweep.work import RunCase
from tests.sweeps.fakes import TWO_ENVIRONMENTS, plan, quick, simulating_here
from tests.sweeps.test_engines import assert_same, table

TWO = plan(**TWO_ENVIRONMENTS)


@pytest.fixture(autouse=True, scope="module")
def in_process() -> Iterator[None]:
    """No worker starts, nothing is measured, and garbage is collected when Python likes."""
    with simulating_here(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sim.study.sweep.work.gc.collect", lambda *_: 0)
        yield


@pytest.fixture(scope="module")
def seven(tmp_path_factory: pytest.TempPathFactory, in_process: None) -> Path:
    """10 cases of seed 7; only to be read."""
    return swept(tmp_path_factory.mktemp("seven") / "o", count=10)


def swept(
    out: Path, *, count: int | None, seed: int | None = 7, of: object = TWO, **more: object
) -> Path:
    """A sweep in this process, of blocks of a few cases."""
    options = {"partitions": 2, "engine": "process", "open_case": quick} | more
    run_sweep(of, out=out, count=count, seed=seed, **options)  # type: ignore[arg-type]
    return out


def grown(source: Path, out: Path, **more: object) -> Path:
    """A copy of a sweep that goes on."""
    return swept(Path(shutil.copytree(source, out)), resume=True, **more)  # type: ignore[arg-type]


def test_more_cases_are_the_sweep_that_had_them_from_the_start(seven: Path, tmp_path: Path) -> None:
    blocks = {path.name: path.read_bytes() for path in seven.glob("runs/*.parquet")}

    larger = grown(seven, tmp_path / "a", count=21)

    assert_same(larger, swept(tmp_path / "b", count=21))
    assert {name: (larger / "runs" / name).read_bytes() for name in blocks} == blocks


def test_who_resumes_goes_on_with_the_count_and_the_seed_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        swept(tmp_path / "a", count=20, seed=9, partitions=10, open_case=_interrupting)

    resumed = swept(tmp_path / "a", count=None, seed=None, resume=True)

    assert_same(resumed, swept(tmp_path / "b", count=20, seed=9))


def test_a_plan_that_was_given_another_count_since_goes_before_the_folder(tmp_path: Path) -> None:
    swept(tmp_path / "a", of=plan(count=3), count=None)

    assert len(table(swept(tmp_path / "a", of=plan(count=5), count=None, resume=True))) == 15


def _interrupting(sweep: Sweep, case_id: int) -> RunCase:
    if case_id == 15:
        raise KeyboardInterrupt
    return quick(sweep, case_id)
