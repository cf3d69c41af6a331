"""One process, two, and Spark search alike, level by level."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sim.bounds import Bounds
from sim.plugins import load_plugins
from sim.study.explore.answers import answers_of
from sim.study.explore.judging import JUDGED
from sim.study.explore.plan import SearchPlan
from sim.study.explore.search import Level, Search, Searched
from sim.study.explore.spark import beginning, breaks_of, expand_blocks, packed
from sim.study.explore.world import Budgets
from tests.commands import replog as command
from tests.plugins.plugged import OTHERS, SHORT_LOGS, forgetting_plugins, replog
from tests.schedules.agreement import TWO, rules_of
from tests.schedules.conftest import SMALL_PLAN

WORLD = replace(TWO, budgets=Budgets(appends=2, epochs=1, shrinks=1, cleanings=1, grows=1))
ONE = Searched(WORLD, (rules_of({"strategy": "header"}),))
BOTH = Searched(
    WORLD, tuple(rules_of({"strategy": "header", "fix": fix}) for fix in ("none", "empty_batch"))
)
Found = dict[tuple[int, str], int]


def in_one_process(searched: Searched, *more: str) -> tuple[list[Level], Found]:
    """Levels, and at which depth each invariant breaks first; `more` are those of plugins."""
    search = searched.search()
    search.only((*JUDGED, *more))
    return [*search.levels()], {name: one.depth for name, one in search.found.items()}


def in_blocks(work: bytes, start: pa.RecordBatch, *, states: int) -> tuple[list[Level], Found]:
    """The same by what workers of Spark do, with levels in blocks of so many states."""
    levels: list[Level] = []
    found: Found = {}
    level = pa.Table.from_batches([start])
    seen: set[bytes] = {*level["hash"].to_pylist()}
    while level.num_rows:
        blocks = level.combine_chunks().to_batches(max_chunksize=states)
        answers = pa.Table.from_batches(expand_blocks(work, blocks))
        rows = answers.to_pylist()
        first = {row["hash"]: at for at, row in reversed([*enumerate(rows)]) if row["hash"]}
        new = sorted(at for one, at in first.items() if one not in seen)
        seen |= {*first}
        broken = breaks_of([row for row in rows if row["invariant"]], len(levels))
        found = {name: depth for name, (depth, *_) in broken.items()} | found
        transitions = sum(row["transitions"] or 0 for row in rows)
        levels.append(Level(len(levels), level.num_rows, transitions))
        level = answers.take(pa.array(new, pa.int64()))
    return levels, found


def test_levels_in_blocks_are_searched_as_one_process_does() -> None:
    """Under two sets of rules at once; Spark, below, searches under one."""
    expected = in_one_process(BOTH)
    assert expected[1]
    assert in_blocks(packed(BOTH), beginning(BOTH), states=20) == expected


def test_other_processes_know_the_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of `--processes` a fix and an invariant; what Spark gives to its workers has them."""
    (tmp_path / "mine.py").write_text(OTHERS + SHORT_LOGS)
    file = tmp_path / "plan.yaml"
    small = {"world": {"replicas": 1}, "matrix": {"fix": ["none", "nothing_more"]}}
    file.write_text(json.dumps(SMALL_PLAN | small | {"invariants": ["short-logs"]}))

    alone = replace(WORLD, replicas=1, budgets=Budgets(appends=2))
    found = replog(tmp_path, "explore", file, "-j", 2, "--plugin", "mine")
    monkeypatch.chdir(tmp_path)
    with forgetting_plugins():
        load_plugins(["mine"])
        searched = Searched(alone, (rules_of({"strategy": "header", "fix": "nothing_more"}),))
        expected = in_one_process(searched, "short-logs")
        work, start = packed(searched), beginning(searched)
    with forgetting_plugins():
        assert in_blocks(work, start, states=1000) == expected

    assert found.status == 0, found.err
    assert "nothing_more: short-logs after 3 steps" in found.out
    assert (0, "short-logs") in expected[1]


def dying_once(marker: str) -> Callable[[bytes, Iterable[pa.RecordBatch]], Any]:
    """Expands blocks; the first worker that is asked to dies."""

    def expand(searched: bytes, blocks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One function in another: workers get it as it is, and import no test."""
        if not Path(marker).exists():
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield from expand_blocks(searched, blocks)

    return expand


PLAN: dict[str, Any] = SMALL_PLAN | {"depth": 6}


@pytest.mark.spark
def test_spark_searches_as_one_process_does(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker dies, and the search is stopped; the command goes on with it."""
    from sim.study.explore import spark as on_spark

    plan = SearchPlan.model_validate(PLAN)
    (expected,) = answers_of(plan, ("rules", ""))
    assert expected.witnesses
    searched = Searched(plan.world_of(), tuple(rules for _, rules in plan.searched()))
    levels, marker = tmp_path / "levels", tmp_path / "died"
    with monkeypatch.context() as dying:
        dying.setattr(on_spark, "expand_blocks", dying_once(str(marker)))
        stopped = on_spark.SparkSearch(spark, searched, str(levels)).levels(None, plan.invariants)
        assert [next(stopped).level for _ in range(2)] == [*expected.levels[:2]]
    assert marker.exists()

    written: list[str] = []
    write = on_spark.SparkSearch._write

    def note(self: Any, table: Any, what: str, depth: int) -> None:
        written.append(f"{what}-{depth}")
        write(self, table, what, depth)

    monkeypatch.setattr(on_spark.SparkSearch, "_write", note)
    file, out = tmp_path / "plan.yaml", tmp_path / "out"
    file.write_text(json.dumps(PLAN), encoding="utf-8")
    words = ["explore", str(file), "--out", str(out), "--engine", "spark", "--levels", str(levels)]
    assert command(*words).status == 0
    assert written[0] == "answers-2"
    assert not [*levels.iterdir()], "levels of a search that is done"
    (answer,) = json.loads((out / "explored.json").read_text())["answers"]
    assert answer["exhausted"] == expected.exhausted
    assert [Level(**one) for one in answer["levels"]] == [*expected.levels]
    assert [(one["invariant"], one["steps"]) for one in answer["witnesses"]] == [
        (one.invariant, one.steps) for one in expected.witnesses
    ]


def test_a_bound_of_time_holds_within_a_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found before is an answer."""
    plan, step = SearchPlan.model_validate(PLAN), Search.step
    (whole,) = answers_of(plan, ("rules", ""))

    def endless_at_three(self: Search) -> Level:
        while len(self.done) == 3:
            time.sleep(0.01)
        return step(self)

    monkeypatch.setattr(Search, "step", endless_at_three)
    (answer,) = answers_of(plan, ("rules", ""), Bounds(1.0, None))

    assert answer.levels == whole.levels[:3]
    assert not answer.exhausted
    assert not answer.interrupted
