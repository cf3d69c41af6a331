"""What Spark makes of an error, as one line. The texts are Spark's own, shortened."""

from pathlib import Path

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from sim.sweeps.engines.spark_errors import in_one_line, last_complaint, with_machine

LOST = (
    "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 "
    "failed 4 times, most recent failure: Lost task 0.3 in stage 0.0 (TID 3) (node7 executor 1): "
)
TRACE = (
    "\tat org.apache.spark.api.python.PythonRunner.compute(PythonRunner.scala:1)\n\t... 20 more\n"
)
RAISED = (
    "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
    ": org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown "
    "from the Python worker: Traceback (most recent call last):\n"
    '  File "pyspark/worker.py", line 4174, in invoke_udf\n'
)
MISMATCH = (
    "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker"
    " has different version: 3.9 than that in driver: 3.11, PySpark cannot run with different "
    "minor versions.\n"
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f'{LOST}java.io.IOException: Cannot run program "python3.11": error=2, No such file\n',
            "node7: no python3.11 there",
        ),
        (RAISED + MISMATCH, "a worker: Python 3.9 there, 3."),
        (
            f"{LOST}org.apache.spark.SparkException: Python worker exited unexpectedly (crashed).",
            "node7: a worker process died (out of memory?)",
        ),
        (
            (
                f"{LOST}org.apache.spark.SparkException: \nError from python worker:\n"
                "  Traceback (most recent call last):\n"
                "  SyntaxError: invalid syntax\nPYTHONPATH was: /x\n"
            ),
            "node7: its Python does not start PySpark (SyntaxError: invalid syntax)",
        ),
        (
            (
                f"{LOST}org.apache.spark.SparkException: \nError from python worker:\n"
                "  /usr/bin/python3.11: No module named pyspark\n"
            ),
            "node7: no pyspark there",
        ),
        (
            f"{LOST}ExecutorLostFailure (executor 1 exited caused by one of the running tasks)\n",
            "node7: executors die with the same block",
        ),
        (
            "org.apache.spark.SparkException: Job 3 cancelled because SparkContext was shut down",
            "the cluster ended the application",
        ),
        (f"{LOST}java.lang.OutOfMemoryError: Java heap space\n", "node7: Java is out of memory"),
        (f"{RAISED}ValueError: broken: 1\n SQLSTATE: 38000\n", "a worker: ValueError: broken: 1;"),
        ("java.lang.IllegalStateException: never seen\n" + TRACE, "never seen"),
    ],
)
def test_what_is_known_of_an_error_is_told_in_one_line(text: str, words: str) -> None:
    told = str(in_one_line(OSError(text + TRACE)))

    assert words in told
    assert "\n" not in told
    assert len(told) < 500
    assert "\tat " not in told


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(111, "Connection refused"),
        Py4JNetworkError("Answer from Java side is empty"),
        Py4JError("An error occurred while calling o37.sc\n"),
    ],
)
def test_a_java_that_died_is_told(error: Exception) -> None:
    told = str(in_one_line(error))

    assert told.startswith("Spark's Java died")
    assert "--conf spark.driver.memory=2g" in told


def test_the_machine_is_looked_up_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "WARN TaskSetManager: Lost task 0.0 in stage 1.0 (TID 8) (node9 executor 2): x\n"
    )

    assert with_machine("a worker: Python 3.9 there", log) == "node9: Python 3.9 there"
    assert with_machine("node7: Python 3.9 there", log) == "node7: Python 3.9 there"
    log.write_text("")
    assert with_machine("a worker: Python 3.9 there", log) == "a worker: Python 3.9 there"


def test_the_last_error_of_a_log_is_found_without_its_trace(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "20:10:00 WARN NativeCodeLoader: Unable to load native-hadoop library\n"
        "20:10:05 ERROR StandaloneSchedulerBackend: Application has been killed. "
        "Reason: Master removed our application: FAILED\n" + TRACE
    )

    assert last_complaint(log) == (
        "StandaloneSchedulerBackend: Application has been killed. "
        "Reason: Master removed our application: FAILED"
    )
    log.write_text("")
    assert last_complaint(log, OSError("it was\nthis")) == "it was"
    assert last_complaint(log) == "its log says nothing"
