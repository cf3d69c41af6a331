"""Spark as it is started and left: what is refused before, and that nothing stays."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from sim.errors import BadInput
from sim.study.sweep.runner import run_sweep
from sim.version import Made
from tests.commands import ROOT
from tests.sweeps.fakes import plan, quick
from tests.sweeps.spark_cluster import PATIENCE_SECONDS, processes, wait_until


@pytest.mark.spark
def test_an_executor_of_another_version_makes_no_row(spark: Any, tmp_path: Path) -> None:
    with (
        patch("sim.study.sweep.spark.made_by", lambda: Made("9.0", None)),
        pytest.raises(BadInput, match=r"an executor has Replog .*, the driver Replog 9\.0"),
    ):
        run_sweep(plan(), out=tmp_path / "out", engine="spark", open_case=quick)


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

    assert process.returncode == 130
    assert "replog: interrupted" in told.splitlines()
    assert "Traceback" not in told
    wait_until(lambda: not processes(mark), "the end of Java")
