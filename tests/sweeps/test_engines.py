"""Both engines make the same tables, whatever the blocks; what was finished survives."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sim.errors import BadInput
from sim.simulate.run.timed import run_scenario
from sim.study.sweep.columns import runs_schema
from sim.study.sweep.plan import number_runs
from sim.study.sweep.runner import EngineName, Silent, run_sweep
from sim.study.sweep.table import find_run, scenario_of_run
from tests.sweeps.fakes import FAR, TWO_ENVIRONMENTS, deadly, plan, quick, simulating_here, slow
from tests.sweeps.tables import load_sweep, load_violations

CASES = 120

on_spark = pytest.param("spark", marks=pytest.mark.spark)


@pytest.fixture(params=["process", on_spark])
def engine(request: pytest.FixtureRequest) -> EngineName:
    if request.param == "spark":
        request.getfixturevalue("spark")
    name: EngineName = request.param
    return name


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sweep that all others must equal."""
    out = tmp_path_factory.mktemp("reference") / "out"
    with simulating_here():
        run_sweep(plan(), out=out, count=CASES, engine="process", open_case=quick)
    return out


def table(out: Path) -> list[dict[str, Any]]:
    """All rows of the table, in order, without what depends on the machine."""
    files = out.glob("runs/part-*.parquet")
    rows = [row for path in files for row in pq.read_table(path).to_pylist()]
    rows.sort(key=lambda row: row["run_id"])
    return [{k: v for k, v in row.items() if k != "wall_ms"} for row in rows]


def assert_same(out: Path, other: Path) -> None:
    assert table(out) == table(other)
    assert (out / "plan.json").read_text() == (other / "plan.json").read_text()


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two environments, in two blocks."""
    out = tmp_path_factory.mktemp("small") / "out"
    swept = plan(**TWO_ENVIRONMENTS)
    with simulating_here():
        run_sweep(swept, out=out, engine="process", partitions=2, open_case=quick)
    return out


@pytest.mark.parametrize(
    ("name", "partitions"),
    [
        ("process", 7),
        pytest.param("spark", 4, marks=pytest.mark.spark),
    ],
)
def test_any_engine_with_any_blocks_makes_the_same_tables(
    name: EngineName,
    partitions: int,
    small: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    session = request.getfixturevalue("spark") if name == "spark" else None
    out = tmp_path / "out"

    swept = plan(**TWO_ENVIRONMENTS)
    run_sweep(swept, out=out, engine=name, partitions=partitions, open_case=quick)

    assert_same(out, small)
    runs, violations = load_sweep(out), load_violations(out)
    ended = runs[runs.verdict != "error"]
    assert set(ended.events - ended.case_id) == {FAR}  # which no double can hold
    assert set(violations.offset - violations.position) == {FAR}
    first = violations[violations.position == 0].set_index("run_id").cause
    assert first.equals(runs.set_index("run_id").cause.dropna())
    assert first.nunique() == 3
    if session is not None:  # a session that was there is used, and left running
        assert session.range(3).count() == 3


def test_a_table_has_every_run_once_with_the_columns_of_its_schema(reference: Path) -> None:
    sweep = number_runs(plan(), count=CASES)

    assert [row["run_id"] for row in table(reference)] == list(range(3 * CASES))
    for path in reference.glob("runs/*"):
        assert pq.read_schema(path).equals(runs_schema(sweep))
    assert sorted(path.name for path in reference.iterdir()) == [
        "plan.json",
        "runs",
    ]


class Impatient(Silent):
    """Presses Ctrl-C once a block is there."""

    def __init__(self, out: Path) -> None:
        self.out = out

    def show(self, text: str) -> None:
        if list(self.out.glob("runs/part-*")):
            raise KeyboardInterrupt


def rows_there(out: Path) -> int:
    return sum(pq.read_metadata(path).num_rows for path in out.glob("runs/part-*.parquet"))


@pytest.mark.parametrize(
    ("engine", "other"),
    [
        ("process", "process"),
        pytest.param("process", "spark", marks=pytest.mark.spark),
        pytest.param("spark", "process", marks=pytest.mark.spark),
    ],
    indirect=["engine"],
)
def test_ctrl_c_keeps_what_is_finished_and_either_engine_goes_on_to_the_same_tables(
    engine: EngineName,
    other: EngineName,
    reference: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run_sweep(
            plan(),
            out=out,
            count=CASES,
            engine=engine,
            partitions=40,
            open_case=slow,
            teller=Impatient(out),
        )
    kept = rows_there(out)
    assert 0 < kept < 3 * CASES

    if other == "spark":
        request.getfixturevalue("spark")
    with simulating_here():
        made = run_sweep(plan(), out=out, count=CASES, engine=other, resume=True, open_case=quick)

    assert made.runs_before == kept
    assert_same(out, reference)


def test_a_block_whose_worker_dies_leaves_no_rows_and_what_was_finished_stays(
    engine: EngineName, reference: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    died = {"process": r"worker process died.*--resume", "spark": r"--resume.*worker exited"}
    with pytest.raises(BadInput, match=f"(?s){died[engine]}") as caught:
        run_sweep(plan(), out=out, count=CASES, engine=engine, partitions=9, open_case=deadly)

    assert "\tat " not in str(caught.value)
    assert 0 < rows_there(out) < 3 * CASES
    with simulating_here():
        run_sweep(plan(), out=out, count=CASES, engine="process", resume=True, open_case=quick)
    assert_same(out, reference)


SHORT = plan(generate={"mix": "reference", "duration_ms": 3_000, "sends": (30, 60)})


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four cases, simulated in one block."""
    out = tmp_path_factory.mktemp("simulated") / "out"
    with simulating_here():
        run_sweep(SHORT, out=out, count=4, engine="process", partitions=1)
    return out


def test_simulated_runs_are_the_same_on_both_engines_and_replay_to_their_digests(
    engine: EngineName, simulated: Path, tmp_path: Path
) -> None:
    """Each worker orders its sets by a hash seed of its own."""
    out = tmp_path / "out"
    run_sweep(SHORT, out=out, count=4, engine=engine, partitions=3)

    assert_same(out, simulated)
    for run_id in (0, 5, 11):
        row, made = find_run(out, run_id), run_scenario(scenario_of_run(out, run_id))
        assert row["error"] is None
        assert (made.digest, made.verdict) == (row["digest"], row["verdict"])
        assert made.rules.cleaner.fix == row["fix"]
        assert made.content.seed == row["seed"]
    weather = load_sweep(out).groupby("case_id").weather.nunique()
    assert set(weather) == {1}
