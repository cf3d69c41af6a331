"""Starting Spark: what is said when that cannot work, and what is not imported until it must be."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sim.errors import BadInput
from sim.sweeps.engines.java import find_java
from sim.sweeps.engines.session import spark_session
from sim.sweeps.runner import run_sweep
from tests.sweeps.conftest import ROOT
from tests.sweeps.fakes import plan, quick
from tests.sweeps.spark_cluster import PATIENCE_SECONDS, processes, wait_until

PACKAGE = "openjdk-17-jre-headless"


def test_without_java_the_package_to_install_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(BadInput, match=PACKAGE):
        run_sweep(plan(), out=tmp_path / "out", engine="spark", open_case=quick)

    assert not (tmp_path / "out").exists()


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(BadInput, match=f"JAVA_HOME is {tmp_path}.*{PACKAGE}"):
        find_java()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("""echo 'openjdk version "11.0.2" 2019-01-15' >&2""", "is Java 11"),
        ("""echo 'java version "1.8.0_292"' >&2""", "is Java 8"),
        ("exit 1", "does not run"),
    ],
)
def test_a_java_that_spark_cannot_use_is_refused(
    answer: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{answer}\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(BadInput, match=f"{words}.*{PACKAGE}"):
        find_java()


def test_a_new_java_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("""#!/bin/sh\necho 'openjdk version "21.0.1" 2023-10-17' >&2\n""")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    assert find_java() == java


def test_spark_connect_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)

    with pytest.raises(BadInput, match="Connect"), spark_session(master="sc://somewhere"):
        pass


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"engine": "flink"}, "one of spark, process"),
        ({"partitions": 0}, "partitions 0"),
        ({"count": 0}, "count 0"),
    ],
)
def test_options_out_of_range_are_refused_before_anything_is_written(
    option: dict[str, object], words: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=words):
        run_sweep(plan(), out=tmp_path / "out", open_case=quick, **option)  # type: ignore[arg-type]

    assert not (tmp_path / "out").exists()


def test_the_package_is_imported_without_spark_and_without_data_frames() -> None:
    program = (
        "import sys, sim.sweeps, sim.sweeps.runner\n"
        "print([name for name in ('pyspark', 'pandas', 'matplotlib') if name in sys.modules])"
    )

    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ
    )

    assert answer.stdout == "[]\n"


@pytest.mark.spark
def test_python_workers_of_spark_import_nothing_from_the_folder_they_start_in(spark: Any) -> None:
    """Python otherwise looks there first, also for modules of its own library."""
    safe = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.flags.safe_path)

    assert safe.collect() == [True]


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_nothing_stays_of_a_sweep_that_is_ended_while_java_starts(tmp_path: Path) -> None:
    mark = f"REPLOG_TEST_START={tmp_path}"
    command = [sys.executable, "-m", "sim", "sweep", str(ROOT / "scenarios/sweeps/demo.yaml")]
    process = subprocess.Popen(
        [*command, "--count", "3", "--master", "local[1]", "--out", str(tmp_path / "out")],
        env=os.environ | {"PYTHONPATH": str(ROOT), **dict([mark.split("=")])},
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: processes(mark, "SparkSubmit"), "Java")

    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE_SECONDS)

    assert (process.returncode, told) == (130, "replog: interrupted\n")
    wait_until(lambda: not processes(mark), "the end of Java")


CALL_WITHOUT_ANSWER = """
from concurrent.futures import ThreadPoolExecutor
from sim.sweeps.engines.session import spark_session
try:
    with spark_session(master="local[1]") as session:
        pool = ThreadPoolExecutor()
        pool.submit(session._jvm.java.lang.Thread.sleep, 3_600_000)
        pool.submit(int).result()
        raise KeyboardInterrupt
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.spark
def test_a_call_that_java_never_answers_keeps_no_interrupted_sweep_from_its_end() -> None:
    """As of a job that begins in the moment in which Spark stops, once in many Ctrl-C."""
    ended = subprocess.run(
        [sys.executable, "-c", CALL_WITHOUT_ANSWER],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted\n", "")
