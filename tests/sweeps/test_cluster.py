"""A sweep on a cluster that gets an environment by `spark.archives`; parts of it are killed."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sim.study.sweep.plan import load_plan
from sim.study.sweep.runner import run_sweep
from tests.commands import ROOT
from tests.sweeps.fakes import plan_text, simulating_here
from tests.sweeps.spark_cluster import PATIENCE_SECONDS, SPARK_HOME, Cluster, wait_until
from tests.sweeps.test_engines import assert_same

PLAN = plan_text(
    seed=3,
    generate={"mix": "reference", "duration_ms": 3000, "sends": [30, 60]},
    rules={"preset": "kip-280"},
)
"""Short runs."""
BLOCKS = 40
"""Of a case each."""

SUBMIT = str(SPARK_HOME / "bin" / "spark-submit")
PROGRAM = "from sim.cli import main; main()"


@contextmanager
def started(cluster: Cluster, out: Path, *before: str) -> Iterator[subprocess.Popen[str]]:
    """`replog sweep`, by itself or after the words of `spark-submit`; killed at the end."""
    sweep = ["sweep", "plan.yaml", "--out", str(out), "--partitions", str(BLOCKS)]
    command = [*before, *cluster.options, "run_replog.py", *sweep, "--resume"]
    if not before:
        command = [sys.executable, "-m", "sim", *sweep, *cluster.options]
    with subprocess.Popen(
        command,
        cwd=cluster.folder,
        env=cluster.environment
        | {"PYTHONPATH": str(ROOT), "PYSPARK_DRIVER_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def blocks(out: Path) -> int:
    return len(list(out.glob("runs/part-*.parquet")))


def wait_for_blocks(out: Path, more: int, driver: subprocess.Popen[str]) -> None:
    before = blocks(out)
    wait_until(lambda: blocks(out) >= before + more or driver.poll() is not None, "a block")
    assert driver.poll() is None, driver.communicate()


@pytest.mark.spark
@pytest.mark.timeout(1_200)
def test_tables_are_the_same_when_a_worker_and_the_driver_are_killed_and_spark_submit_goes_on(
    tmp_path: Path,
) -> None:
    out, reference = tmp_path / "out", tmp_path / "reference"
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "run_replog.py").write_text(PROGRAM)
    plan = load_plan(tmp_path / "plan.yaml")
    with Cluster(tmp_path, workers=2) as cluster:
        asked = [cluster.python, "-c", "import pyarrow"]
        assert subprocess.run(asked, capture_output=True, check=False).returncode != 0

        with started(cluster, out) as driver:
            with simulating_here():
                run_sweep(plan, out=reference, engine="process", plan_file="plan.yaml")
            wait_for_blocks(out, 1, driver)
            wait_until(lambda: len(cluster.executors()) == 2, "an executor for each worker")
            cluster.kill_worker()
            wait_until(lambda: len(cluster.executors()) == 1, "the end of one")
            wait_for_blocks(out, 2, driver)
        wait_until(lambda: len(cluster.processes()) == 2, "nothing but a master and a worker")

        assert 3 <= blocks(out) < BLOCKS
        with started(cluster, out, SUBMIT) as submitted:
            _, errors = submitted.communicate(timeout=3 * PATIENCE_SECONDS)
        assert submitted.returncode == 0, errors
    assert cluster.processes() == []
    assert blocks(out) == BLOCKS
    assert_same(out, reference)
