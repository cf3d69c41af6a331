"""A sweep as a pipeline of Spark's: a DataFrame of blocks, mapped to rows on the executors.

Executors write the rows with Spark's own committer, a file for each block, into the folder of the
sweep, which all machines of a cluster have to see. Spark commits a job as a whole, so that blocks
go in waves, a job each: a driver that is killed costs the wave under way.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from sim.errors import BadInput
from sim.study.sweep.columns import runs_schema
from sim.study.sweep.folder import RUNS
from sim.study.sweep.statistics import Ask
from sim.study.sweep.work import Work
from sim.study.workers import SAFE_PATH, interruptibly
from sim.version import Made, made_by

MASTER = "local[*,3]"
"""All cores of this machine; a task that dies is tried three times (`local[*]` tries once)."""
LOGGING = Path(__file__).with_name("log4j2.properties")
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
SMALL_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options for a Java with little work of its own, beside simulations on the same cores."""


@contextmanager
def spark_session(
    *, master: str | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Gives a session for a sweep or a search.

    An active session is used as it is and left running. Otherwise one is started, and stopped at
    the end: on `master`, else on what `spark-submit` chose, else on all cores of this machine.
    `settings` are Spark's, by name; they replace those that are chosen here.

    Raises BadInput without Java, and with Spark's own message for an error of Spark.
    """
    active = SparkSession.getActiveSession()
    try:
        if active is not None:
            yield active
            return
        session = _start(master, dict(settings or {}))
        try:
            yield session
        finally:
            session.stop()
    # A Java that dies in the middle of a call is an error of the connection to it.
    except (Py4JError, PySparkException, ConnectionError, EOFError) as error:
        message = str(error).partition("\n\tat ")[0]  # without the trace of Java
        kept = "what is finished is kept, --resume continues"
        raise BadInput(f"Spark failed ({kept}): {message.strip()}") from None


def find_java() -> Path:
    """Finds the `java` that Spark starts, in JAVA_HOME, then on the PATH. Raises BadInput."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if java is None:
        found = "no Java found in JAVA_HOME or on the PATH"
        if home:
            found = f"JAVA_HOME is {home}, which has no bin/java"
        raise BadInput(
            f"{found}; sweeps on Spark need Java 17 or 21; on Debian: apt-get install "
            "openjdk-17-jre-headless (--engine process needs no Java)"
        )
    return Path(java)


def _start(master: str | None, settings: dict[str, str]) -> SparkSession:
    if master is None and "PYSPARK_GATEWAY_PORT" not in os.environ:  # of spark-submit
        master = MASTER
    find_java()
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    configuration = SparkConf().setAppName("replog sweep")
    java = f"-Dlog4j2.configurationFile={LOGGING.as_uri()} {settings.get(JAVA_OPTIONS, '')}"
    if master is not None:
        configuration.setMaster(master)
    if master is not None and re.match(r"local(\[|$)", master):
        # Spark would take python3 from the PATH, which misses this environment.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        java = f"{SMALL_JAVA} {java}"
    chosen = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        f"spark.executorEnv.{SAFE_PATH}": "1",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        "spark.sql.session.timeZone": "UTC",
    }
    configuration.setAll([*(chosen | settings | {JAVA_OPTIONS: java.strip()}).items()])
    # A Java that is interrupted while it starts never ends.
    return SparkSession(interruptibly(lambda: SparkContext.getOrCreate(configuration)))


BLOCKS_PER_CORE = 4
"""Number of blocks per core in a wave."""


class SparkEngine:
    """Simulates blocks on the executors of a session."""

    def __init__(self, session: SparkSession, work: Work, out: Path) -> None:
        self.work, self.out, self._session = work, out, session
        self.cores = int(session.sparkContext.defaultParallelism)

    def simulate(self, blocks: Sequence[Sequence[int]]) -> Generator[int]:
        """Simulates blocks; yields the number of runs done so far after each wave."""
        done, size = 0, BLOCKS_PER_CORE * self.cores
        for first in range(0, len(blocks), size):
            wave = blocks[first : first + size]
            interruptibly(partial(self._write, wave))
            done += sum(map(len, wave)) * len(self.work.sweep.rule_sets)
            yield done

    @contextmanager
    def asking(self, _files: Sequence[Path]) -> Iterator[Ask]:
        """Gives a function that asks the table in SQL, on Spark; its views are its own."""
        session = self._session.newSession()
        session.read.parquet(self._table).createOrReplaceTempView("runs")
        yield lambda statement: [tuple(row) for row in session.sql(statement).collect()]

    @property
    def _table(self) -> str:
        return (self.out.absolute() / RUNS).as_uri()

    def _write(self, wave: Sequence[Sequence[int]]) -> None:
        """Runs a wave as one job, with a task and a file for each block."""
        schema = from_arrow_schema(runs_schema(self.work.sweep))
        numbers = self._session.range(0, len(wave), 1, len(wave))
        rows = numbers.mapInArrow(partial(_simulate, self.work, wave, made_by()), schema)
        rows.write.mode("append").parquet(self._table)


def _simulate(
    work: Work, blocks: Sequence[Sequence[int]], driver: Made, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Simulates the blocks whose numbers come in `batches`; yields their rows.

    Raises BadInput if the version of Replog here is not the driver's.
    """
    here = made_by()
    if not here.same_as(driver):
        raise BadInput(f"an executor has {here}, the driver {driver}; a sweep needs one version")
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from work.batches(blocks[number])
