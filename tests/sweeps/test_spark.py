"""Spark as it is started, watched and left: one line for what goes wrong, and nothing stays."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from sim.errors import BadInput
from sim.study.sweep.engines.session import Watch, find_java, is_local, spark_session
from sim.study.sweep.engines.spark_errors import SparkFailed, in_one_line, last_complaint
from sim.study.sweep.runner import run_sweep
from tests.sweeps.conftest import ROOT
from tests.sweeps.fakes import plan, quick
from tests.sweeps.spark_cluster import PATIENCE_SECONDS, processes, wait_until


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)


@pytest.mark.usefixtures("no_session")
def test_without_java_the_package_to_install_is_named_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(BadInput, match="openjdk-17-jre-headless"):
        run_sweep(plan(), out=tmp_path / "out", engine="spark", open_case=quick)

    assert not (tmp_path / "out").exists()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="no Java found"):
        find_java()


def test_only_a_master_in_this_process_is_local() -> None:
    assert is_local("local")
    assert is_local("local[*,3]")
    assert not any(map(is_local, ("local-cluster[2,1,512]", "localhost", "spark://local:7077")))


@pytest.mark.usefixtures("no_session")
@pytest.mark.parametrize(
    ("master", "told"),
    [
        ("sc://somewhere", "Spark Connect"),
        ("spark://127.0.0.1:{closed}", "nobody answers at 127.0.0.1:{closed}.*is the master"),
        ("spark://no-such-host.invalid:7077", "nobody answers at no-such-host"),
        ("spark://host", "nobody answers at host"),
        ("spark://h:99999", "nobody answers at h:99999"),
    ],
)
def test_a_master_that_cannot_be_used_is_told_before_java_starts(master: str, told: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]

    with (
        pytest.raises(BadInput, match=told.format(closed=closed)) as caught,
        spark_session(master=master.format(closed=closed)),
    ):
        pass
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"engine": "flink"}, "one of spark, process"),
        ({"partitions": 0}, "partitions 0"),
        ({"count": 0}, "count 0"),
        ({"engine": "process", "master": "local"}, "only Spark has masters"),
        ({"engine": "process", "out": "s3a://b/x"}, "--engine spark writes there"),
    ],
)
def test_options_out_of_range_are_refused_before_anything_is_written(
    option: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=words):
        run_sweep(plan(), **{"out": tmp_path / "out", "open_case": quick} | option)

    assert not (tmp_path / "out").exists()


LOST = (
    "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 "
    "failed 4 times, most recent failure: Lost task 0.3 in stage 0.0 (TID 3) (node7 executor 1): "
)
TRACE = "\tat org.apache.spark.Runner.compute(Runner.scala:1)\n\t... 20 more\n"
RAISED = f"{LOST}Traceback (most recent call last):\n" + '  File "worker.py", line 4174, in f\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{LOST}Python worker exited unexpectedly (crashed)\n{TRACE}", "node7: .*out of memory"),
        (f"{LOST}ExecutorLostFailure (executor 1 exited)\n", "spark.executor.memory=2g"),
        (f'{RAISED}OSError: Cannot run program "python3.11"\n', "node7: OSError.*PYSPARK_PYTHON"),
        (f"{RAISED}ValueError: broken: 1\n SQLSTATE: 38000\n", "node7: ValueError: broken: 1;"),
        (f"{RAISED}sim.errors.BadInput: other code: 1\n{TRACE}", "^node7: other code: 1; what"),
        ("x.IllegalStateException: never seen\n" + TRACE, "^never seen; what is finished is kept"),
        (f'{LOST}No FileSystem for scheme "x"\n', r"spark\.jars\.packages"),
    ],
)
def test_an_error_of_sparks_is_one_line_in_its_words_with_what_helps(text: str, words: str) -> None:
    told = str(in_one_line(RuntimeError(text)))

    assert re.search(words, told), told
    assert "\n" not in told
    assert len(told) < 500


@pytest.mark.usefixtures("no_session")
def test_an_error_of_sparks_is_read_while_its_java_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[object] = []

    class Captured(PySparkException):
        def __str__(self) -> str:
            assert not ended
            return "ValueError: broken"

    monkeypatch.setattr("sim.study.sweep.engines.session._start", lambda *_: "a session")
    monkeypatch.setattr("sim.study.sweep.engines.session._stop", ended.append)
    monkeypatch.setattr("sim.study.sweep.engines.session._end_java", lambda: None)

    with pytest.raises(SparkFailed, match="ValueError: broken"), spark_session():
        raise Captured("broken")

    assert ended == ["a session"]


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(111, "Connection refused"),
        Py4JNetworkError("Answer from Java side is empty"),
        Py4JError("An error occurred while calling o37.sc\n"),
    ],
)
def test_a_java_that_died_in_any_call_is_told(error: Exception) -> None:
    assert str(in_one_line(error)).startswith("Spark's Java died")


def test_the_last_error_of_a_log_is_found_without_its_trace(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("20:10:00 WARN Loader: x\n20:10:05 ERROR Scheduler: was killed\n" + TRACE)

    assert last_complaint(log) == "20:10:05 ERROR Scheduler: was killed"


@pytest.mark.parametrize(
    ("stopped", "told"), [(True, "ended the application"), (False, "no executor for 0 s")]
)
def test_a_cluster_without_executors_is_not_waited_for(*, stopped: bool, told: str) -> None:
    memory = SimpleNamespace(size=lambda: 1)
    scala = SimpleNamespace(getExecutorMemoryStatus=lambda: memory, isStopped=lambda: stopped)
    context: Any = SimpleNamespace(
        master="spark://nowhere:7077", _jsc=SimpleNamespace(sc=lambda: scala)
    )

    with pytest.raises(BadInput, match=rf"{told}.*--resume continues"):
        Watch(context, seconds=0.0).look()


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
from sim.study.sweep.engines.session import spark_session
from tests.sweeps.spark_cluster import SMALL_SPARK
try:
    with spark_session(master="local[1]", settings=SMALL_SPARK) as session:
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
