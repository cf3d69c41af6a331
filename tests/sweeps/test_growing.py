"""Sweeps that grow, by cases or by another seed: what comes out, and what is refused."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from msgspec import to_builtins

from sim.errors import BadInput
from sim.report import read_folder
from sim.report.confirmation import confirm
from sim.rules.rules import Settings
from sim.sweeps.folder import read_sweep, write_json, write_plan
from sim.sweeps.one_run import digest_of_run, find_run
from sim.sweeps.plan import Sweep, number_parts, number_runs
from sim.sweeps.runner import run_sweep
from sim.sweeps.segments import Part
from sim.sweeps.storage import LocalFolder
from sim.sweeps.table import state_of
from sim.sweeps.tables import load_sweep, load_violations
from sim.sweeps.work import RunCase
from sim.timed_run import Run
from tests.report.folders import both_fixes
from tests.sweeps.fakes import TWO_ENVIRONMENTS, plan, quick, simulating_here

TWO = plan(**TWO_ENVIRONMENTS, confirmation_seed=99)


@pytest.fixture(autouse=True, scope="module")
def in_process() -> Iterator[None]:
    """No worker starts, nothing is measured, and garbage is collected when Python likes."""
    with simulating_here(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sim.sweeps.work.gc.collect", lambda *_: 0)
        yield


@pytest.fixture(scope="module")
def seven(tmp_path_factory: pytest.TempPathFactory, in_process: None) -> Path:
    """10 cases of seed 7; only to be read."""
    return swept(tmp_path_factory.mktemp("seven") / "o", count=10)


@pytest.fixture(scope="module")
def eight(tmp_path_factory: pytest.TempPathFactory, in_process: None) -> Path:
    """6 cases of seed 8; only to be read."""
    return swept(tmp_path_factory.mktemp("eight") / "o", count=6, seed=8)


@pytest.fixture(scope="module")
def both_seeds(tmp_path_factory: pytest.TempPathFactory, seven: Path) -> Path:
    """10 cases of seed 7, and then 6 of seed 8; only to be read."""
    out = tmp_path_factory.mktemp("both") / "o"
    return appended(copied(seven, out), count=6, seed=8)


def copied(source: Path, out: Path) -> Path:
    return Path(shutil.copytree(source, out))


def swept(out: Path, *, count: int, seed: int = 7, of: object = TWO, **more: object) -> Path:
    """A sweep in this process, of blocks of a few cases."""
    options = {"partitions": 2, "engine": "process", "open_case": drawn} | more
    run_sweep(of, out=out, count=count, seed=seed, **options)  # type: ignore[arg-type]
    return out


def drawn(sweep: Sweep, case_id: int) -> RunCase:
    """A run that depends on the seed of its case alone."""
    run, events = quick(sweep, case_id), sweep.case_seed(case_id) % 100

    def with_events(settings: Settings) -> Run:
        found = run(settings)
        return replace(found, counters=found.counters | {"events": events})

    return with_events


def appended(out: Path, **more: object) -> Path:
    return swept(out, append=True, **more)  # type: ignore[arg-type]


def rows(out: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables, without what no seed decides."""
    return load_sweep(out).drop(columns="wall_ms"), load_violations(out)


def assert_same(one: Path, other: Path) -> None:
    """The same rows, the same sums, and no damage in either."""
    for left, right in zip(rows(one), rows(other), strict=True):
        pd.testing.assert_frame_equal(left, right)
    for name in ("tallies.json", "summary.csv"):
        assert (one / name).read_bytes() == (other / name).read_bytes()
    assert read_sweep(one) == read_sweep(other)
    for out in (one, other):
        assert state_of(out, thorough=True).damage == ()


def test_more_cases_of_a_seed_are_the_sweep_that_had_them_from_the_start(
    seven: Path, tmp_path: Path
) -> None:
    grown = copied(seven, tmp_path / "a")
    before = list(grown.glob("runs/*.parquet"))
    stamps = [path.read_bytes() for path in before]

    appended(grown, count=21)

    assert_same(grown, swept(tmp_path / "b", count=21))
    assert [path.read_bytes() for path in before] == stamps
    assert read_sweep(grown).parts == (Part(7, 21),)


def test_another_seed_follows_with_runs_numbered_on(both_seeds: Path, eight: Path) -> None:
    grown, alone = both_seeds, eight
    there, here = rows(grown)[0], rows(alone)[0]
    later = there[there.case_id >= 10].reset_index(drop=True)
    assert later.run_id.tolist() == [30 + run for run in here.run_id]
    same = [name for name in here.columns if name not in ("run_id", "case_id")]
    pd.testing.assert_frame_equal(later[same], here[same])
    for run in (0, 8, 17):
        assert digest_of_run(grown, 30 + run) == digest_of_run(alone, run)
    assert find_run(grown, 47)["seed"] == find_run(alone, 17)["seed"]


def test_growing_that_was_interrupted_is_resumed(seven: Path, tmp_path: Path) -> None:
    out = copied(seven, tmp_path / "a")

    with pytest.raises(KeyboardInterrupt):
        appended(out, count=20, partitions=10, open_case=_interrupting)
    with pytest.raises(BadInput, match="is not finished; --resume finishes it"):
        appended(out, count=30)

    appended(out, count=20, resume=True)
    assert_same(out, swept(tmp_path / "b", count=20))


def _interrupting(sweep: Sweep, case_id: int) -> RunCase:
    if case_id == 15:
        raise KeyboardInterrupt
    return drawn(sweep, case_id)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"count": 5, "seed": 8}, "give a larger --count"),
        ({"count": 6, "seed": 8}, "give a larger --count"),
        ({"count": 20, "seed": 7}, "seed 7 is followed by seed 8"),
        ({"count": 4, "seed": 99}, "confirmation seed"),
        ({"count": 20, "seed": 8, "of": plan()}, "holds another sweep"),
    ],
)
def test_what_cannot_grow_is_one_line(
    both_seeds: Path, tmp_path: Path, more: dict[str, object], told: str
) -> None:
    shutil.copytree(both_seeds, tmp_path / "a")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    with pytest.raises(BadInput, match=told):
        appended(tmp_path / "a", **more)

    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path for path in after if path.name != ".lock"} == set(before)
    assert all(after[path] == content for path, content in before.items())


def test_a_folder_without_a_sweep_does_not_grow(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no plan\.json there"):
        appended(tmp_path / "nothing", count=10)


def test_a_case_of_a_later_seed_is_the_case_it_is_alone() -> None:
    first, second = number_runs(plan(), count=10, seed=7), number_runs(plan(), count=6, seed=8)

    both = number_parts(plan(), [Part(7, 10), Part(8, 6)])

    alone = [*map(first.case_seed, range(10)), *map(second.case_seed, range(6))]
    assert list(map(both.case_seed, range(16))) == alone
    assert (both.count, both.seed, both.runs) == (16, 7, 48)


def test_a_draw_is_whole_before_another_seed_follows() -> None:
    two = TWO

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


@pytest.mark.parametrize(
    "segments",
    [
        [{"seed": 7}],
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


def test_a_byte_that_is_no_text_is_one_line_wherever_it_stands(tmp_path: Path) -> None:
    write_plan(LocalFolder(tmp_path), number_runs(plan()))
    content = (tmp_path / "plan.json").read_bytes()
    (tmp_path / "plan.json").write_bytes(content.replace(b'"code"', b'"\x80ode"'))

    with pytest.raises(BadInput, match=r"plan\.json: is not JSON: "):
        read_sweep(tmp_path)


def _with_seeds(out: Path, *parts: Part, confirmation: int | None = None) -> Path:
    """A report's folder that says it was made of these seeds."""
    content = json.loads((both_fixes(out) / "plan.json").read_text())
    content["segments"] = to_builtins(parts)
    content |= {"count": sum(part.cases for part in parts), "seed": parts[0].seed}
    content["plan"]["confirmation_seed"] = confirmation
    (out / "plan.json").write_text(json.dumps(content))
    return out


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
    assert (found["development_seeds"], found["confirmation_seed"]) == ((7, 8), 9)
    assert "under seeds 7, 8 and the confirmation seed 9" in found["text"]
