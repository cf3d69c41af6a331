"""One process, two, and Spark search alike, level by level."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sim.schedules.blocks import Searched, expanded, levels
from sim.schedules.search import Level
from sim.schedules.world import Budgets
from tests.schedules.agreement import TWO, rules_of

WORLD = replace(TWO, budgets=Budgets(appends=2, epochs=2, shrinks=1))
ONE = Searched(WORLD, (rules_of({"strategy": "header"}),))
BOTH = Searched(
    WORLD, tuple(rules_of({"strategy": "header", "fix": fix}) for fix in ("none", "empty_batch"))
)
Found = dict[tuple[int, str], int]


def in_one_process(searched: Searched) -> tuple[list[Level], Found]:
    """Levels, and at which depth each invariant breaks first."""
    result = searched.search().run()
    return result.levels, {name: one.depth for name, one in result.found.items()}


def followed(answers: Iterator[tuple[Level, dict[tuple[int, str], tuple[Any, ...]]]]) -> Any:
    """The same of levels that come one by one."""
    met: list[Level] = []
    depths: Found = {}
    for level, found in answers:
        met.append(level)
        for name, (depth, *_) in found.items():
            depths.setdefault(name, depth)
    return met, depths


@pytest.mark.parametrize("searched", [ONE, BOTH])
def test_two_processes_search_as_one_does(searched: Searched) -> None:
    expected = in_one_process(searched)
    assert expected[1]
    assert followed(levels(searched, processes=2, states=50)) == expected


def dying_once(spec: bytes, marker: str) -> Any:
    """Expands blocks; the first worker that is asked to dies."""

    def answers(blocks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for block in blocks:
            if not Path(marker).exists():
                Path(marker).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield expanded(spec, block)

    return answers


@pytest.mark.spark
def test_spark_searches_as_one_process_does(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sim.schedules import spark as on_spark

    searched = ONE._replace(world=replace(WORLD, budgets=Budgets(appends=1, epochs=2)))
    expected = in_one_process(searched)
    marker = str(tmp_path / "died")
    right = on_spark._expanding
    monkeypatch.setattr(on_spark, "_expanding", lambda spec: dying_once(spec, marker))
    stopped = on_spark.SparkSearch(spark, searched, str(tmp_path / "levels")).levels()
    assert [next(stopped)[0] for _ in range(3)] == expected[0][:3]
    assert Path(marker).exists()

    written: list[str] = []
    monkeypatch.setattr(on_spark, "_expanding", right)
    again = on_spark.SparkSearch(spark, searched, str(tmp_path / "levels"))
    write = again._write
    monkeypatch.setattr(
        again, "_write", lambda *args: (written.append(f"{args[1]}-{args[2]}"), write(*args))
    )
    found: dict[tuple[int, str], tuple[Any, ...]] = {}
    met = []
    for level, at in again.levels():
        met.append(level)
        found = at | found
    assert (met, {name: one[0] for name, one in found.items()}) == expected
    assert written[0] == "answers-3"

    for which, (depth, schedule, move, _) in found.items():
        search = searched.search()
        breaks = search.expand(search.follow(np.array([schedule])))[1][which]
        assert breaks.move == move
        assert len(schedule) // 2 + breaks.depth == depth
