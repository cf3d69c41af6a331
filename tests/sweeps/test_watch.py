"""A sweep on a cluster does not wait for executors that will not come, whatever it waits for."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from sim.errors import BadInput
from sim.sweeps.blocks import Work
from sim.sweeps.engines import session, spark
from sim.sweeps.engines.executors import Watch
from sim.sweeps.engines.spark import SparkEngine
from sim.sweeps.plan import number_runs
from sim.sweeps.runner import _engine
from sim.sweeps.storage import LocalFolder
from tests.sweeps.fakes import plan, quick

WORK = Work(number_runs(plan(), count=10), quick)


class Context:
    """Of a cluster without executors, where a job waits until `ended`."""

    master = "spark://nowhere:7077"
    defaultParallelism = 2  # noqa: N815 - Spark's name

    def __init__(self, *, stopped: bool) -> None:
        self.ended = threading.Event()
        memory = SimpleNamespace(size=lambda: 1)
        scala = SimpleNamespace(getExecutorMemoryStatus=lambda: memory, isStopped=lambda: stopped)
        self._jsc = SimpleNamespace(sc=lambda: scala)

    def range(self, *_: object) -> Any:
        job = SimpleNamespace(collect=lambda: self.ended.wait(60))
        return SimpleNamespace(mapInArrow=lambda *_: job)


def engine(context: Context) -> SparkEngine:
    session: Any = SimpleNamespace(sparkContext=context, range=context.range)
    return SparkEngine(session, WORK, LocalFolder(Path("out")))


@pytest.mark.parametrize(
    ("stopped", "told"),
    [(True, "the cluster ended the application"), (False, "no executor for 0 s")],
)
def test_a_cluster_that_loses_all_executors_while_they_warm_up_is_noticed(
    monkeypatch: pytest.MonkeyPatch, *, stopped: bool, told: str
) -> None:
    monkeypatch.setattr(spark, "Watch", partial(Watch, alone_seconds=0.0))
    context = Context(stopped=stopped)
    try:
        with pytest.raises(BadInput, match=rf"{told}.*--resume continues"):
            engine(context).warm_up()
    finally:
        context.ended.set()


def test_a_java_that_dies_while_executors_start_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stopped: list[str] = []

    def gone(*_: object, **_more: object) -> None:
        raise Py4JError("An error occurred while calling o37.sc\n")

    context = SimpleNamespace(master="spark://nowhere:7077", stop=lambda: stopped.append("it"))
    monkeypatch.setattr(session, "_context", lambda *_, **_more: context)
    monkeypatch.setattr(session, "_wait_for_executors", gone)
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    monkeypatch.setenv("PYSPARK_DRIVER_PYTHON", "python3")
    with pytest.raises(BadInput, match=r"Spark's Java died.*--resume continues"):
        session._start(context.master, {}, Path("log"))
    assert stopped == ["it"]


@pytest.mark.parametrize("asked", ["cores", "warm_up"])
def test_a_java_that_dies_in_any_call_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    class Gone:
        master = "spark://nowhere:7077"

        @property
        def defaultParallelism(self) -> int:  # noqa: N802 - Spark's name
            raise Py4JNetworkError("Answer from Java side is empty")

    @contextmanager
    def of_a_dying_java(**_: object) -> Iterator[Any]:
        yield SimpleNamespace(sparkContext=Gone())

    monkeypatch.setattr(session, "spark_session", of_a_dying_java)
    calls: dict[str, Callable[[Any], object]] = {
        "cores": lambda on_spark: on_spark.cores,
        "warm_up": lambda on_spark: on_spark.warm_up(),
    }
    with (
        pytest.raises(BadInput, match=r"Spark's Java died.*--resume continues"),
        _engine("spark", WORK, LocalFolder(Path("out")), master=None, spark=None) as on_spark,
    ):
        calls[asked](on_spark)
